/** What a form looks like at 80 and 40 columns, in few rows, with hostile text, and drawn by Ink. */
import { render } from 'ink-testing-library'
import { describe, expect, test } from 'vitest'
import type { Component } from '../../src/core/protocol/form.ts'
import { type FormWords, formPicture } from '../../src/terminal/form/form-picture.ts'
import { openFormSession } from '../../src/terminal/form/form-session.ts'
import type { FormState } from '../../src/terminal/form/form-state.ts'
import { FormView } from '../../src/terminal/form/form-view.tsx'
import { widthOf } from '../../src/terminal/output/width.ts'
import { drawn } from '../support/drawn.ts'
import {
  after,
  begin,
  check,
  city,
  form,
  growing,
  note,
  pace,
  plaque,
  press,
  required,
  subject,
} from './forms-at-hand.ts'

const words: FormWords = { title: 'Build a lighthouse in 4 steps?', submit: 'Answer', escape: 'answer later' }

/** The frame as text, the cursor as ▮. */
function pictured(state: FormState, columns: number, rows = 30, more: Partial<FormWords> = {}): string {
  const { lines, cursor } = formPicture(state, { ...words, ...more }, { columns, rows })
  const texts = lines.map(({ spans }) => spans.map(({ text }) => text).join(''))
  expect(texts.filter((text) => widthOf(text) > columns)).toEqual([])
  expect(texts.length).toBeLessThanOrEqual(rows)
  if (cursor === undefined) return texts.join('\n')
  return texts
    .map((text, y) => (y === cursor.y ? `${text.slice(0, cursor.x).padEnd(cursor.x)}▮${text.slice(cursor.x)}` : text))
    .join('\n')
}

const described: Component = {
  ...subject,
  label: 'What to build',
  description: 'It stands by the sea, on ground that was surveyed beforehand, and is seen from far away',
  placeholder: 'a lighthouse',
} as Component
const all = form(described, { ...note, placeholder: 'Anything else' } as Component, pace, city, plaque)
const failing = form(
  { ...described, checks: [required('subject', 'Say what to build, in a few words that everybody understands')] },
  { ...note, checks: [required('note', 'Leave a note'), required('note', 'Say more')] },
  plaque,
)
const slider = { type: 'slider', id: 'size', label: 'Size', description: 'How large' } as unknown as Component

const states: Record<string, () => FormState> = {
  'as it opens': () => begin(all),
  'a long text, and a text of many lines': () =>
    press(
      begin(all, { note: 'One line\nand another that is longer than a narrow terminal is wide' }),
      `"${'a lighthouse of many colours '.repeat(4)}"`,
    ),
  'a text of many lines with the cursor in it': () =>
    press(begin(all, { note: 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight' }), 'next', 'up', 'up'),
  'few options': () => press(begin(all), 'next', 'next', 'right'),
  'many options': () => press(begin(all), 'next', 'next', 'next', 'down', 'down'),
  'many options, filtered': () => press(begin(all), 'next', 'next', 'next', '"be"', 'down'),
  'many options, none of which matches': () => press(begin(all), 'next', 'next', 'next', '"zz"'),
  'a box that is ticked': () => press(begin(all), 'previous', 'previous', '" "'),
  'the row that submits': () => press(begin(form(pace)), 'next'),
  'three failing checks': () => press(begin(failing), 'previous', 'enter'),
  'one failing check': () => press(begin(form(subject)), 'previous', 'enter'),
  'a component that cannot be shown': () => press(begin(form(subject, slider), { subject: 'x' }), 'enter'),
  'a form without fields': () => begin(form()),
  'a field that was disclosed': () => {
    const ticked = press(begin(growing({}), {}, true), 'next', '" "')
    return after(ticked, { type: 'form', inquiry: ticked.inquiry, form: growing({ plaque: true }) })
  },
  'while the resolver is asked': () => press(begin(growing({}), {}, true), 'next', '" "'),
  'while it is checked before it is submitted': () => press(begin(form(pace), {}, true), 'enter'),
  'while it is sent': () => press(begin(form(pace)), 'enter'),
  'a resolver that took too long': () => {
    const ticked = press(begin(growing({}), {}, true), 'next', '" "')
    const sentence = 'The resolver did not answer within 10 s: the form was not updated.'
    return after(ticked, { type: 'form-failed', inquiry: ticked.inquiry, sentence })
  },
}

describe.each([80, 40])('at %i columns', (columns) => {
  test.each(Object.keys(states))('%s', (name) => {
    expect(pictured((states[name] as () => FormState)(), columns)).toMatchSnapshot()
  })

  test('with what Ctrl-C does next', () => {
    const bar = 'Not stopped yet.  Ctrl-C: stop it   any other key: continue'
    expect(pictured(begin(form(pace)), columns, 30, { bar })).toMatchSnapshot()
  })
})

test.each([1, 2, 3, 4, 6, 9, 12])('in %i rows the focused field is visible, wherever it is', (rows) => {
  let state = begin(failing)
  state = press(state, 'previous', 'enter')
  for (let at = 0; at < 4; at += 1) {
    const shown = pictured(state, 40, rows)
    if (rows > 5) expect(shown).toContain('▮')
    state = press(state, 'next')
  }
})

test('in few rows hidden fields are marked', () => {
  expect(pictured(press(begin(all), 'next', 'next'), 40, 9)).toMatchSnapshot()
})

test('hostile text is shown as text (B10)', () => {
  const nasty = 'a\u001b[31m\u001b]0;x\u0007\u202eb\u009b2Jc'
  const hostile = form(
    {
      type: 'text',
      id: 'q\u001b[2J',
      label: nasty,
      description: nasty,
      placeholder: nasty,
      checks: [required('q', nasty)],
    },
    { type: 'select', id: 's', label: nasty, options: [{ value: nasty, label: nasty }], default: nasty },
    { type: `slider${nasty}`, id: 'u', label: nasty } as unknown as Component,
  )
  const open = press(begin(hostile, { 'q\u001b[2J': nasty }), 'previous', 'enter')
  for (const state of [open, begin(hostile), press(open, 'next'), after(open, { type: 'notice', sentence: nasty })]) {
    const shown = pictured(state, 80, 40, { title: nasty })
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  }
})

describe('drawn by Ink', () => {
  function draw(given = form(subject, pace, plaque)) {
    const plan = { title: 'Go on?', submitWord: 'Answer', escapeWord: 'cancel' }
    const session = openFormSession({ ...plan, form: given, before: {} }, check)
    const room = { columns: 80, rows: 22 }
    return { session, ...render(<FormView plan={plan} session={session} room={room} interactive={true} />) }
  }

  test('keys reach the form, and its result holds the typed values', async () => {
    const { session, stdin, lastFrame, unmount } = draw()
    // Keys are heard once the first frame is committed.
    await drawn()
    for (const typed of ['a mill', '\t', '\u001b[C', '\r', ' ', '\r']) stdin.write(typed)
    await drawn()
    expect(await session.ended).toEqual({
      kind: 'submitted',
      payload: { subject: 'a mill', pace: 'instant', plaque: true },
    })
    expect(lastFrame()).toContain('│ a mill')
    unmount()
  })

  test('a paste is one text, with its line ends in a textarea', async () => {
    const { session, stdin, unmount } = draw(form(note))
    await drawn()
    stdin.write('\u001b[200~one\r\ntwo\u001b[201~')
    await drawn()
    expect(session.state().values).toEqual({ note: 'one\ntwo' })
    unmount()
  })

  test('Ctrl-C in the middle of quick typing is handled', async () => {
    const { session, stdin, unmount } = draw()
    await drawn()
    stdin.write('abc\u0003')
    expect(await session.ended).toEqual({ kind: 'interrupted' })
    unmount()
  })

  test('a missing EDITOR is reported', async () => {
    const before = { VISUAL: process.env['VISUAL'], EDITOR: process.env['EDITOR'] }
    delete process.env['VISUAL']
    delete process.env['EDITOR']
    const { stdin, lastFrame, unmount } = draw(form(note))
    await drawn()
    stdin.write('\u0005')
    await drawn()
    expect(lastFrame()).toContain('Set VISUAL or EDITOR')
    unmount()
    for (const [name, value] of Object.entries(before)) if (value !== undefined) process.env[name] = value
  })
})
