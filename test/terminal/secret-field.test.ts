/** A secret field in the terminal and in commands that are printed: its value is in no frame, no inquiry and no command line (S-SECRET-01). */
import { expect, test } from 'vitest'
import type { Form, Payload } from '../../src/core/protocol/form.ts'
import { formPicture } from '../../src/terminal/form/form-picture.ts'
import { openFormSession } from '../../src/terminal/form/form-session.ts'
import { fieldFlags } from '../../src/terminal/output/next-steps.ts'
import { runCommand } from '../../src/web/forms/as-command.ts'

const VALUE = 'typed-canary'
const form: Form = {
  type: 'form',
  components: [
    { type: 'text', id: 'password', label: 'Password', secret: true },
    { type: 'text', id: 'user' },
  ],
}

test('a form on the terminal shows that a secret value is given, not the value and not its length; it is submitted, and not sent with an inquiry', async () => {
  const asked: Payload[] = []
  const submitted: Payload[] = []
  const session = openFormSession(
    {
      title: 'plan',
      form,
      before: {},
      schema: async (input) => {
        asked.push(input)
        return form
      },
      submit: async (payload) => {
        submitted.push(payload)
        return []
      },
      submitWord: 'Run',
      escapeWord: 'cancel',
    },
    () => [],
  )
  const frames: string[] = []
  const look = () => {
    const { lines } = formPicture(
      session.state(),
      { title: 'plan', submit: 'Run', escape: 'cancel' },
      { columns: 60, rows: 20 },
    )
    frames.push(lines.flatMap(({ spans }) => spans.map(({ text }) => text)).join('|'))
  }
  session.press({ type: 'text', text: VALUE })
  look()
  session.press({ type: 'enter' })
  session.press({ type: 'text', text: 'ada' })
  look()
  session.press({ type: 'enter' })
  await expect(session.ended).resolves.toMatchObject({ kind: 'submitted' })
  look()
  expect(frames.join('\n')).not.toContain('canary')
  expect(frames[0]).toContain('••••••••')
  expect(submitted).toEqual([{ password: VALUE, user: 'ada' }])
  expect(asked.length).toBeGreaterThan(0)
  expect(JSON.stringify(asked)).not.toContain('canary')
})

test('a printed command has no secret value', () => {
  expect(
    fieldFlags(form.components, { payload: { password: VALUE, user: 'ada' }, typed: { password: VALUE } }),
  ).toEqual([...['-i', 'password=@<file with password>'], ...['-i', 'user=ada']])
  expect(runCommand('plan', form, { password: VALUE, user: 'ada' })).toBe(
    "resolve run plan -i 'password=@<file with password>' -i user=ada",
  )
  expect(runCommand('plan', form, { password: '', user: 'ada' })).toBe('resolve run plan -i user=ada')
})
