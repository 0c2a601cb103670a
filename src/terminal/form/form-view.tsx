/** Draws a form with Ink and passes its keys to the session. The lines come from {@link file://./form-picture.ts}. */
import { Box, Text, useApp, useCursor, useInput, usePaste } from 'ink'
import { useSyncExternalStore } from 'react'
import { editField, editorCommand } from './editor.ts'
import type { Line } from './field-lines.ts'
import { formKeys } from './form-keys.ts'
import { type FormRoom, formPicture } from './form-picture.ts'
import type { FormPlan, FormSession } from './form-session.ts'
import { fieldWith } from './form-state.ts'

export interface FormViewProps {
  plan: Pick<FormPlan, 'title' | 'submitWord' | 'escapeWord'>
  session: FormSession
  room: FormRoom
  /** The number of rows above the form that are used by other output. */
  top?: number
  /** Whether keys can be read: stdin is a terminal. */
  interactive: boolean
  /** Called when an editor takes the terminal and when it ends. */
  onEditor?: (isOpen: boolean) => void
}

export function FormView({ plan, session, room, top = 0, interactive, onEditor }: FormViewProps) {
  const state = useSyncExternalStore(session.subscribe, session.state)
  const bar = useSyncExternalStore(session.subscribe, session.bar)
  const { suspendTerminal } = useApp()
  const { setCursorPosition } = useCursor()
  useInput(
    (input, key) => {
      if (key.eventType === 'release') return
      for (const pressed of formKeys(input, key)) {
        const field = fieldWith(session.state(), session.state().focus)
        if (pressed.type === 'editor' && field?.kind === 'textarea') void edit(field.id)
        else session.press(pressed)
      }
    },
    { isActive: interactive },
  )
  usePaste((text) => session.press({ type: 'text', text }), { isActive: interactive })

  const edit = async (id: string) => {
    const command = editorCommand()
    if (command === undefined) {
      return session.dispatch({ type: 'notice', sentence: 'Set VISUAL or EDITOR to use your own editor.' })
    }
    onEditor?.(true)
    await suspendTerminal(async () => {
      const { values } = session.state()
      const field = fieldWith(session.state(), id)
      if (field === undefined) return
      const result = await editField(field, values, command).catch((error: Error) => ({
        problem: error.message,
      }))
      if (result.problem === undefined) session.dispatch({ type: 'written', field: id, text: result.text })
      else session.dispatch({ type: 'notice', sentence: result.problem })
    })
    onEditor?.(false)
  }

  const words = { title: plan.title, submit: plan.submitWord, escape: plan.escapeWord, bar }
  const picture = formPicture(state, words, room)
  setCursorPosition(picture.cursor === undefined ? undefined : { x: picture.cursor.x, y: picture.cursor.y + top })
  return (
    <Box flexDirection="column">
      {picture.lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line has no other name than its place.
        <LineView key={at} line={line} />
      ))}
    </Box>
  )
}

function LineView({ line }: { line: Line }) {
  if (line.spans.every(({ text }) => text === '')) return <Text> </Text>
  return (
    <Text wrap="truncate-end">
      {line.spans.map(({ text, color, dim, bold }, at) => (
        <Text
          // biome-ignore lint/suspicious/noArrayIndexKey: a span has no other name than its place.
          key={at}
          {...(color === undefined ? {} : { color })}
          dimColor={dim === true}
          bold={bold === true}
        >
          {text}
        </Text>
      ))}
    </Text>
  )
}
