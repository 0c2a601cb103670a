/**
 * The Ink component of the live view: the frame, and below it the child of the slot ({@link file://./../view/slot.ts}). Lines of
 * past events are written above the frame and scroll away; they are not kept in memory.
 */
import { Box, Text, useInput, useStdout } from 'ink'
import { type ReactNode, useLayoutEffect } from 'react'
import { pad } from '../output/width.ts'
import type { Room } from '../view/slot.ts'
import { type FrameLine, type FrameState, frameLines } from './frame.ts'

/** The meaning of a key in the frame; `other` undoes a first Ctrl-C. */
export type FrameKey = 'detach' | 'pause' | 'interrupt' | 'other'

export interface LiveRunProps extends FrameState {
  onKey: (key: FrameKey) => void
  /** Whether the child below receives the keys. */
  childHoldsKeys?: boolean
  /** Called with a function that writes above the frame, when the frame is mounted. */
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
      else if (input === 'p' && !key.ctrl && !key.meta) onKey('pause')
      else onKey('other')
    },
    { isActive: props.interactive && !childHoldsKeys },
  )
  // A form needs the rows: only one line of the frame is shown above it.
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

/** The rows for a child that receives the keys, below one line of the frame. */
export function roomFor(rows: number, columns: number): Room {
  return { rows: Math.max(1, rows - 3), columns, top: 1 }
}
