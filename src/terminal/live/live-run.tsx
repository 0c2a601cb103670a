/**
 * The live view of a run: its frame, and below it the child of the slot ({@link file://./../view/slot.ts}). What is over is no part of it: those
 * lines are written above the frame and scroll away, so that nothing of a long run is kept.
 */
import { Box, Text, useInput, useStdout } from 'ink'
import { type ReactNode, useLayoutEffect } from 'react'
import { pad } from '../output/width.ts'
import type { Room } from '../view/slot.ts'
import { type FrameLine, type FrameState, frameLines } from './frame.ts'

/** What a key of the frame means; `other` takes a first Ctrl-C back. */
export type FrameKey = 'detach' | 'interrupt' | 'other'

export interface LiveRunProps extends FrameState {
  onKey: (key: FrameKey) => void
  /** Whether the child below reads the keys instead. */
  childHoldsKeys?: boolean
  /** Given how to write above the frame, once it is there. */
  onOpen?: (writeAbove: (text: string) => void) => void
  children?: ReactNode
}

export function LiveRun(props: LiveRunProps) {
  const { onKey, onOpen, rows, columns, children } = props
  const childHoldsKeys = props.childHoldsKeys === true
  const { write } = useStdout()
  useLayoutEffect(() => onOpen?.(write), [onOpen, write])
  useInput(
    (input, key) => {
      if (key.ctrl && input === 'c') onKey('interrupt')
      else if (input === 'd' && !key.ctrl && !key.meta) onKey('detach')
      else onKey('other')
    },
    { isActive: props.interactive && !childHoldsKeys },
  )
  // Above a form one line has to do: the form needs the rows.
  const lines = frameLines(childHoldsKeys ? { ...props, rows: Math.min(rows, 3) } : props)
  const room = Math.max(0, rows - 2 - lines.length)
  return (
    <Box flexDirection="column">
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line of the frame is its place
        <Line key={at} line={line} columns={columns} />
      ))}
      {children === undefined ? null : (
        <Box flexDirection="column" maxHeight={room} overflowY="hidden">
          {children}
        </Box>
      )}
    </Box>
  )
}

function Line({ line, columns }: { line: FrameLine; columns: number }) {
  const { text, color, dim = false, bar = false } = line
  return (
    <Text wrap="truncate-end" {...(color === undefined ? {} : { color })} dimColor={dim} inverse={bar}>
      {bar ? pad(text, columns) : text}
    </Text>
  )
}

/** How many rows are left for a child that holds the keys, below the one line of the frame. */
export function roomFor(rows: number, columns: number): Room {
  return { rows: Math.max(1, rows - 3), columns, top: 1 }
}
