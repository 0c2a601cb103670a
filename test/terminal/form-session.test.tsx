/** An open form: what it asks of the resolver, how it submits, and how it ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fail } from '../../src/core/errors.ts'
import type { Form, Payload } from '../../src/core/protocol/form.ts'
import { type FormPlan, type FormSession, openFormSession } from '../../src/terminal/form/form-session.ts'
import { check, form, growing, plaque, subject, toKey } from './forms-at-hand.ts'

type Key = Parameters<typeof toKey>[0]

function open(plan: Partial<FormPlan>): FormSession & { keys(...keys: Key[]): void } {
  const session = openFormSession(
    { title: '', form: growing({}), before: {}, submitWord: 'Run', escapeWord: 'cancel', ...plan },
    check,
  )
  return {
    ...session,
    keys(...keys) {
      for (const key of keys) session.press(toKey(key))
    },
  }
}

const ids = (session: FormSession) => session.state().fields.map(({ id }) => id)

test('a changed checkbox asks the resolver with the visible values, and its form is shown', async () => {
  const asked: Payload[] = []
  const schema = (input: Payload): Promise<Form> => {
    asked.push(input)
    return Promise.resolve(growing(input))
  }
  const session = open({ schema, before: { subject: '', plaque: false } })
  session.keys('next', '" "')
  await sleep(0)
  expect(asked[0]).toEqual({ subject: '', plaque: true })
  expect(ids(session)).toEqual(['subject', 'plaque', 'inscription'])
})

test('of two answers in the wrong order the one to the later inquiry is used', async () => {
  const answers: ((form: Form) => void)[] = []
  const schema = () => new Promise<Form>((done) => answers.push(done))
  const session = open({ schema, before: { subject: '', plaque: false } })
  session.keys('next', '" "', '" "')
  answers[1]?.(growing({}))
  await sleep(0)
  answers[0]?.(growing({ plaque: true }))
  await sleep(0)
  expect(ids(session)).toEqual(['subject', 'plaque'])
})

test('an inquiry that takes too long keeps the form and says so (S-RPC-06)', async () => {
  const session = open({ schema: () => new Promise(() => {}), schemaLimitMs: 20, before: { plaque: false } })
  session.keys('next', '" "')
  await sleep(60)
  expect(session.state()).toMatchObject({ waiting: false, phase: 'editing' })
  expect(session.state().notice).toMatch(/did not answer within 10 s: the form was not updated/)
  expect(ids(session)).toEqual(['subject', 'plaque'])
})

test('a resolver that fails to answer keeps the form, with its reason', async () => {
  const schema = () =>
    Promise.reject(fail('resolver_gone', { method: 'resolver.getInstantiationSchema', detail: 'Oh', by_hand: '' }))
  const session = open({ schema })
  session.keys('next', '" "')
  await sleep(0)
  expect(session.state().notice).toContain('The form was not updated. ')
  expect(session.state().notice).toContain('Oh')
})

test('the form is submitted with the valid values, after it was asked for once more', async () => {
  let asked = 0
  const schema = (input: Payload) => {
    asked += 1
    return Promise.resolve(growing(input))
  }
  const session = open({ schema, before: { subject: 'a mill', plaque: false } })
  session.keys('previous', 'enter')
  expect(await session.ended).toEqual({ kind: 'submitted', payload: { subject: 'a mill', plaque: false } })
  expect(asked).toBe(1)
})

test('a refused submission leaves the form open with every message', async () => {
  const refusals = [['One thing', 'Another'], []]
  const session = open({ form: form(plaque), submit: () => Promise.resolve(refusals.shift() ?? []) })
  session.keys('enter')
  await sleep(0)
  expect(session.state().notice).toBe('One thing\nAnother')
  session.keys('enter')
  expect(await session.ended).toMatchObject({ kind: 'submitted' })
})

test('an exception of the submission ends the form', async () => {
  const session = open({
    form: form(plaque),
    submit: () => Promise.reject(fail('request_cancelled', { request: 'q' })),
  })
  session.keys('enter')
  await expect(session.ended).rejects.toThrow('withdrawn')
})

test('Esc ends the form with a draft that can be continued', async () => {
  const session = open({})
  session.keys('"a mill"', 'escape')
  const end = await session.ended
  if (end.kind !== 'dismissed') throw new Error(end.kind)
  const again = open({ draft: end.draft })
  expect(again.state()).toMatchObject({ phase: 'editing', values: { subject: 'a mill' }, focus: 'subject' })
})

test('Ctrl-C ends the form if nothing runs', async () => {
  const session = open({})
  session.keys('interrupt')
  expect(await session.ended).toEqual({ kind: 'interrupted' })
})

test('Ctrl-C in a question of a run says what the next one does, and another key cancels it', () => {
  const session = open({ interrupt: (times) => `pressed ${times}` })
  session.keys('interrupt')
  expect(session.bar()).toBe('pressed 1')
  session.keys('"x"')
  expect(session.bar()).toBeUndefined()
  session.keys('interrupt', 'interrupt')
  expect(session.bar()).toBe('pressed 2')
  session.keys('"x"')
  expect(session.bar()).toBe('pressed 2')
})

test('the signal closes the form (R25)', async () => {
  const abort = new AbortController()
  const session = open({ signal: abort.signal })
  abort.abort()
  expect(await session.ended).toEqual({ kind: 'closed' })
})

test('a signal during a submission waits for it: the own answer is not taken for another one', async () => {
  const abort = new AbortController()
  const { promise, resolve } = Promise.withResolvers<readonly string[]>()
  const session = open({ form: form(plaque), submit: () => promise, signal: abort.signal })
  session.keys('enter')
  abort.abort()
  resolve([])
  expect(await session.ended).toMatchObject({ kind: 'submitted' })
})

test('a form without failing fields is submitted without asking the resolver', async () => {
  const session = open({ form: form(subject), before: { subject: 'x' } })
  session.keys('enter')
  expect(await session.ended).toEqual({ kind: 'submitted', payload: { subject: 'x' } })
})
