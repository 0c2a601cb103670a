/** The reducer of a form: values, focus, messages, fields that come and go, stale answers. */
import { expect, test } from 'vitest'
import type { Component } from '../../src/core/protocol/form.ts'
import { failingCount, payloadOf } from '../../src/terminal/form/form-state.ts'
import {
  after,
  begin,
  city,
  errorsOf,
  form,
  growing,
  inscription,
  note,
  pace,
  plaque,
  press,
  required,
  subject,
} from './forms-at-hand.ts'

test('every field is submitted, empty texts as "", with the extra keys that were given (S-REQ-03, R36)', () => {
  const state = begin(form(subject, note, pace, plaque, city), { extra: [1], subject: 'a mill' })
  expect(payloadOf(state)).toEqual({ extra: [1], subject: 'a mill', note: '', pace: 'brisk', plaque: false })
})

test('an own key named __proto__ stays a plain key', () => {
  const payload = payloadOf(begin(form(subject), JSON.parse('{"__proto__": {"x": 1}}')))
  expect(Object.hasOwn(payload, '__proto__')).toBe(true)
  expect((payload as { x?: number }).x).toBeUndefined()
})

test('Tab, Shift-Tab and arrows move the focus, past the last field to the submit row, and around', () => {
  const state = begin(form(subject, pace, plaque))
  const places = ['next', 'down', 'next', 'next', 'previous', 'up'] as const
  const seen: (string | null)[] = []
  places.reduce((now, key) => {
    const next = press(now, key)
    seen.push(next.focus)
    return next
  }, state)
  expect(seen).toEqual(['pace', 'plaque', null, 'subject', null, 'plaque'])
})

test('leaving a field shows its own failing checks only', () => {
  const both = form(subject, { ...note, checks: [required('note')] })
  const state = press(begin(both), 'next')
  expect(errorsOf(state)).toEqual({ subject: ['subject is required'] })
  expect(errorsOf(press(state, 'previous', '"x"', 'next'))).toEqual({ note: ['note is required'] })
})

test('a submission shows every failing check at once, counts them, and goes to the first (S-ERR-01, S-FORM-07)', () => {
  const failing = form(plaque, subject, { ...note, checks: [required('note'), required('note', 'Say more')] })
  const state = press(begin(failing), 'previous', 'enter')
  expect(errorsOf(state)).toEqual({ subject: ['subject is required'], note: ['note is required', 'Say more'] })
  expect({ count: failingCount(state), refused: state.refused, focus: state.focus, phase: state.phase }).toEqual({
    count: 3,
    refused: true,
    focus: 'subject',
    phase: 'editing',
  })
  const mended = press(state, '"a mill"', 'next')
  expect(failingCount(mended)).toBe(2)
})

test('a given value that fails is reported at once; a missing one when its field is left', () => {
  const state = begin(form(subject, { ...note, checks: [required('note')] }), { subject: '' })
  expect(errorsOf(state)).toEqual({ subject: ['subject is required'] })
})

test('Enter moves on, and submits on the last field and on the submit row', () => {
  const state = press(begin(form(subject, plaque)), '"x"', 'enter')
  expect(state.focus).toBe('plaque')
  expect(press(state, 'enter').phase).toBe('sending')
  expect(press(state, 'next', 'enter').phase).toBe('sending')
})

test('Esc first clears a filter, then dismisses the form', () => {
  expect(press(begin(form(subject)), 'escape').phase).toBe('dismissed')
  const filtered = press(begin(form(city)), '"be"')
  expect(press(filtered, 'escape')).toMatchObject({ phase: 'editing', filter: '' })
})

test('space toggles a checkbox', () => {
  const state = press(begin(form(plaque)), '" "')
  expect(payloadOf(state)).toEqual({ plaque: true })
  expect(payloadOf(press(state, '" "'))).toEqual({ plaque: false })
})

test('left and right choose among few options, around the ends; Backspace restores the default', () => {
  const state = press(begin(form(pace)), 'right')
  expect(payloadOf(state)).toEqual({ pace: 'instant' })
  expect(payloadOf(press(state, 'right'))).toEqual({ pace: 'slow' })
  expect(payloadOf(press(state, 'backspace'))).toEqual({ pace: 'brisk' })
})

test('typing filters many options and chooses the first that matches; arrows choose among the matching', () => {
  const state = press(begin(form(city)), '"be"')
  expect(payloadOf(state)).toEqual({ city: 'berlin' })
  expect(payloadOf(press(state, 'down'))).toEqual({ city: 'bern' })
  expect(payloadOf(press(state, 'down', 'down'))).toEqual({ city: 'berlin' })
  expect(payloadOf(press(state, '"x"'))).toEqual({ city: 'berlin' })
  expect(press(state, 'backspace', 'backspace').filter).toBe('')
  expect(payloadOf(press(begin(form(city)), '"ava"'))).toEqual({ city: 'havana' })
})

test('a textarea takes new lines, and arrows move inside it before they leave it', () => {
  const state = press(begin(form(note, subject)), '"one"', 'new-line', '"two"', 'up', '"!"')
  expect(payloadOf(state)).toMatchObject({ note: 'one!\ntwo' })
  expect(press(state, 'up').focus).toBe(null)
  expect(press(state, 'down').focus).toBe('note')
  expect(press(state, 'down', 'down').focus).toBe('subject')
})

test('a text field takes no new line, also in a paste', () => {
  expect(payloadOf(press(begin(form(subject)), 'new-line', '"a\r\nb\u001b[31m\tc"'))).toEqual({ subject: 'a b[31m c' })
})

test('the text from an editor is put into the field', () => {
  const state = after(begin(form(note)), { type: 'written', field: 'note', text: 'one\r\ntwo\u0007' })
  expect(payloadOf(state)).toEqual({ note: 'one\ntwo' })
  expect(state.cursor).toBe(7)
})

test('a component of an unknown type is shown and blocks the submission', () => {
  const slider = { type: 'slider', id: 'size', label: 'Size' } as unknown as Component
  const state = press(begin(form(slider, plaque)), 'enter')
  expect(state).toMatchObject({ focus: 'plaque', phase: 'editing' })
  expect(state.notice).toContain('cannot be shown, so the form cannot be submitted here')
})

test('any value in place of a form is handled without a crash', () => {
  const odd = {
    type: 'form' as const,
    components: [null, 7, {}, { type: 'text' }, { type: 'select', id: 's', options: 'x' }],
  }
  const state = begin({ ...odd, components: odd.components as unknown as Component[] })
  expect(state.fields.map(({ kind }) => kind)).toEqual(['unknown', 'unknown', 'unknown', 'text', 'select'])
})

test('a changed checkbox asks for the form again; a changed text does when its field is left (S-FORM-21)', () => {
  const before = payloadOf(begin(growing({})))
  const state = begin(growing({}), before, true)
  expect(state.waiting).toBe(false)
  expect(press(state, '"a mill"').inquiry).toBe(0)
  const left = press(state, '"a mill"', 'next')
  expect(left).toMatchObject({ inquiry: 1, waiting: true })
  const same = after(left, { type: 'form', inquiry: 1, form: growing({}) })
  expect(press(same, 'previous', 'next').inquiry).toBe(1)
  expect(press(same, '" "').inquiry).toBe(2)
})

test('an answer to an earlier inquiry is stale, and ignored', () => {
  const ticked = press(begin(growing({}), {}, true), 'next', '" "')
  const unticked = press(ticked, '" "')
  expect(unticked.inquiry).toBe(ticked.inquiry + 1)
  const stale = after(unticked, { type: 'form', inquiry: ticked.inquiry, form: growing({ plaque: true }) })
  expect(stale.fields.map(({ id }) => id)).toEqual(['subject', 'plaque'])
  expect(stale.waiting).toBe(true)
  const failed = after(unticked, { type: 'form-failed', inquiry: ticked.inquiry, sentence: 'late' })
  expect(failed.notice).toBe(null)
})

test('the focus stays on its field when others appear and vanish, and moves on if its own vanishes', () => {
  const wanted = press(begin(growing({}), {}, true), 'next', '" "')
  const grown = after(wanted, { type: 'form', inquiry: wanted.inquiry, form: growing({ plaque: true }) })
  expect(grown.focus).toBe('plaque')
  const inIt = press(grown, 'next')
  expect(inIt.focus).toBe('inscription')
  const shrunk = after(
    { ...inIt, inquiry: 9, waiting: true },
    { type: 'form', inquiry: 9, form: form(inscription, subject) },
  )
  expect(shrunk.focus).toBe('inscription')
  const gone = after({ ...inIt, inquiry: 9, waiting: true }, { type: 'form', inquiry: 9, form: form(subject, plaque) })
  expect(gone.focus).toBe(null)
})

test('the value of a vanished field is kept, not submitted, and restored when the field returns', () => {
  const answer = (state: ReturnType<typeof begin>) =>
    after(state, { type: 'form', inquiry: state.inquiry, form: growing(payloadOf(state)) })
  const grown = answer(press(begin(growing({}), {}, true), 'next', '" "'))
  const written = answer(press(grown, 'next', '"For Ada"', 'previous'))
  expect(payloadOf(written)).toMatchObject({ inscription: 'For Ada' })
  const shrunk = answer(press(written, '" "'))
  expect(payloadOf(shrunk)).toEqual({ subject: '', plaque: false })
  expect(payloadOf(answer(press(shrunk, '" "')))).toMatchObject({ plaque: true, inscription: 'For Ada' })
})

test('the form is asked for once more before it is submitted', () => {
  const state = press(begin(form(subject), { subject: 'a mill' }, true), 'enter')
  expect(state).toMatchObject({ phase: 'checking', waiting: true })
  const sent = after(state, { type: 'form', inquiry: state.inquiry, form: form(subject) })
  expect(sent.phase).toBe('sending')
})

test('a field that appears with that last inquiry is shown before anything is submitted', () => {
  const state = press(begin(form(subject), { subject: 'a mill' }, true), 'enter')
  const shown = after(state, { type: 'form', inquiry: state.inquiry, form: form(subject, note) })
  expect(shown).toMatchObject({ phase: 'editing', focus: 'note' })
  expect(shown.notice).toContain('Nothing was submitted yet')
})

test('the submitted form belongs to the submitted values: a vanishing field causes another inquiry', () => {
  const grown = begin(growing({ plaque: true }), { subject: 'x', plaque: true, inscription: 'y' }, true)
  const state = press(grown, 'previous', 'enter')
  const once = after(state, { type: 'form', inquiry: state.inquiry, form: form(subject, plaque) })
  expect(once).toMatchObject({ phase: 'checking', waiting: true, inquiry: state.inquiry + 1 })
  const settled = after(once, { type: 'form', inquiry: once.inquiry, form: form(subject, plaque) })
  expect(settled.phase).toBe('sending')
  expect(payloadOf(settled)).toEqual({ subject: 'x', plaque: true })
})

test('a form that changes with every inquiry is asked for a few times only', () => {
  let state = press(begin(form(plaque), { plaque: false }, true), '" "')
  let asked = 0
  while (state.waiting && asked < 50) {
    asked += 1
    const fresh: Component = { type: 'checkbox', id: `box-${asked}` }
    state = after(state, { type: 'form', inquiry: state.inquiry, form: form(plaque, fresh) })
  }
  expect(asked).toBeLessThan(6)
})

test('a failed inquiry keeps the form, shows the reason, and submits nothing', () => {
  const state = press(begin(form(subject), { subject: 'a mill' }, true), 'enter')
  const failed = after(state, { type: 'form-failed', inquiry: state.inquiry, sentence: 'It took too long.' })
  expect(failed).toMatchObject({ phase: 'editing', waiting: false, notice: 'It took too long.' })
  expect(failed.fields.map(({ id }) => id)).toEqual(['subject'])
})

test('Esc during the check returns to the form, and the answer is ignored', () => {
  const state = press(begin(form(subject), { subject: 'a mill' }, true), 'enter')
  const back = press(state, 'escape')
  expect(back).toMatchObject({ phase: 'editing', waiting: false })
  expect(after(back, { type: 'form', inquiry: state.inquiry, form: form(subject) }).phase).toBe('editing')
})

test('a refused submission returns to the form with its messages', () => {
  const state = press(begin(form(plaque)), 'enter')
  expect(press(state, '" "')).toBe(state)
  expect(after(state, { type: 'refused', messages: ['No'] })).toMatchObject({ phase: 'editing', notice: 'No' })
})
