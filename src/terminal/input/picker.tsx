/** A list to pick from, drawn on stderr: arrow keys, typing to filter, Enter. Loaded only when it is needed. */
import { Box, render, Text, useInput, useWindowSize } from 'ink'
import { useState } from 'react'
import { cut } from '../output/width.ts'

/** The maximum number of visible choices; a longer list scrolls. */
const ROWS_MAX = 10
/** The rows for title, filter and keys. */
const ROWS_BESIDE = 3

/** Label and detail are cleaned text; the filter searches both. */
export interface Choice<T> {
  value: T
  label: string
  detail: string
}

const KEYS = '↑↓ move  type to filter  Enter pick  Esc cancel'
const KEYS_NARROW = '↑↓, type, Enter pick, Esc cancel'

export interface PickerProps {
  title: string
  choices: readonly Choice<unknown>[]
  columns: number
  rows: number
  /** Called with the choice, or with undefined if the user cancels. */
  onDone: (picked: Choice<unknown> | undefined) => void
}

export function Picker({ title, choices, columns, rows, onDone }: PickerProps) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const fitting = narrowed(choices, typed)
  const here = Math.min(at, Math.max(0, fitting.length - 1))
  const height = Math.max(1, Math.min(ROWS_MAX, rows - 1 - ROWS_BESIDE))

  useInput((input, key) => {
    if (key.escape || (key.ctrl && (input === 'c' || input === 'd'))) return onDone(undefined)
    if (key.return) return fitting[here] === undefined ? undefined : onDone(fitting[here])
    if (key.upArrow) return setAt(Math.max(0, here - 1))
    if (key.downArrow) return setAt(Math.min(fitting.length - 1, here + 1))
    if (key.pageUp) return setAt(Math.max(0, here - height))
    if (key.pageDown) return setAt(Math.min(fitting.length - 1, here + height))
    if (key.backspace || key.delete) setTyped(typed.slice(0, -1))
    else if (!key.ctrl && !key.meta && /^[ -~\u00a1-\uffff]+$/.test(input)) setTyped(typed + input)
    else return
    setAt(0)
  })

  const first = Math.max(0, Math.min(here - Math.floor(height / 2), fitting.length - height))
  const shown = fitting.slice(first, first + height)
  const count = typed === '' ? `${choices.length}` : `${fitting.length} of ${choices.length}`
  return (
    <Box flexDirection="column">
      <Text bold>{cut(`${title} (${count})${typed === '' ? '' : `  ${typed}▏`}`, columns)}</Text>
      {shown.map((choice, row) => {
        const isHere = first + row === here
        const line = cut(`${isHere ? '›' : ' '} ${choice.label}  ${choice.detail}`, columns)
        return (
          <Text key={choice.label} {...(isHere ? { color: 'cyan' } : {})}>
            {line}
          </Text>
        )
      })}
      {fitting.length === 0 ? <Text dimColor>{cut('  No match.', columns)}</Text> : null}
      <Text dimColor>{cut(columns < KEYS.length ? KEYS_NARROW : KEYS, columns)}</Text>
    </Box>
  )
}

/** The choices that contain every typed word in label or detail, ignoring case. */
export function narrowed<T>(choices: readonly Choice<T>[], typed: string): Choice<T>[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  return choices.filter(({ label, detail }) => {
    const text = `${label} ${detail}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** Returns the choice; undefined if the user cancels. Removes the list from the screen. */
export async function openPicker<T>(title: string, choices: readonly Choice<T>[]): Promise<Choice<T> | undefined> {
  let picked: Choice<T> | undefined
  const ink = render(
    <Sized
      title={title}
      choices={choices}
      onDone={(choice) => {
        picked = choice as Choice<T> | undefined
        ink.clear()
        ink.unmount()
      }}
    />,
    { stdout: process.stderr, exitOnCtrlC: false, patchConsole: false, interactive: true },
  )
  await ink.waitUntilExit()
  // Ink unrefs stdin when it ends; a form that follows must keep the process alive.
  process.stdin.ref()
  return picked
}

function Sized(props: Omit<PickerProps, 'columns' | 'rows'>) {
  const { columns, rows } = useWindowSize()
  return <Picker {...props} columns={columns} rows={rows} />
}
