/**
 * The plain form: asks for one field after the other on stderr and reads lines from stdin. For screen readers and terminals that
 * cannot be drawn on; chosen by {@link file://./ask-form.ts}.
 */
import type { Interface } from 'node:readline/promises'
import { splitSecrets } from '../../core/forms/secret-fields.ts'
import { validate } from '../../core/forms/validate.ts'
import type { Component, Form, OptionValue, Payload, SelectComponent } from '../../core/protocol/form.ts'
import { cleanLine, cleanText } from '../../core/view/clean.ts'
import { fieldsOf } from '../../core/view/fields.ts'
import { outsideOptions } from '../../core/view/misfits.ts'
import type { Output } from '../output/output.ts'
import type { FormEnd, FormPlan } from './form-session.ts'
import { openQuietLines, type QuietLines } from './quiet-lines.ts'

/** Asks for all fields, prints failing messages and asks again, until the payload is accepted. Includes fields that the resolver adds. */
export async function plainForm(plan: FormPlan, output: Output): Promise<FormEnd> {
  const { boundedMatcher } = await import('../../core/index.ts')
  const { signal } = plan
  const printMessages = (messages: readonly string[]) => {
    for (const message of messages) output.say(output.paint('yellow', `  ${message}`))
  }
  let { form, before, title } = plan
  let due = form.components
  for (;;) {
    const unshown = fieldsOf(form).find((field) => field.kind === 'unknown')
    if (unshown !== undefined) {
      printMessages([`${unshown.label}: cannot be shown (unknown type "${unshown.type}")`])
      return { kind: 'interrupted' }
    }
    const asked = {
      prompt: title,
      form: { ...form, components: due },
      before,
      ...(signal === undefined ? {} : { signal }),
    }
    const payload = await promptForm(asked)
    if (payload === undefined) return { kind: signal?.aborted ? 'closed' : 'interrupted' }
    before = payload
    title = ''
    if (plan.schema !== undefined) {
      const next = (await plan.schema(splitSecrets(form, payload).open)) ?? { type: 'form', components: [] }
      const known = form.components.map(({ id }) => id)
      for (const id of known) if (!next.components.some((component) => component.id === id)) delete payload[id]
      form = next
      due = next.components.filter(({ id }) => !known.includes(id))
      if (due.length > 0) continue
    }
    const failing = validate(form, payload, boundedMatcher())
    const messages = failing.length > 0 ? failing : ((await plan.submit?.(payload)) ?? [])
    if (messages.length === 0) return { kind: 'submitted', payload }
    printMessages(messages)
    due = form.components
  }
}

export interface FormQuestion {
  prompt: string
  form: Form
  /** The current values; shown as defaults. */
  before: Payload
  signal?: AbortSignal
}

/** The payload; undefined if the user cancels (Ctrl-C, Ctrl-D) or the signal aborts. */
export async function promptForm({ prompt, form, before, signal }: FormQuestion): Promise<Payload | undefined> {
  const { lines, askQuietly } = openQuietLines()
  const givenUp = new AbortController()
  lines.on('SIGINT', () => givenUp.abort())
  lines.on('close', () => givenUp.abort())
  const stop = signal === undefined ? givenUp.signal : AbortSignal.any([signal, givenUp.signal])
  const payload: Payload = { ...before }
  try {
    if (prompt !== '') process.stderr.write(`\n${cleanText(prompt)}\n`)
    for (const component of form.components) {
      payload[component.id] =
        component.type === 'text' && component.secret === true
          ? await askSecret(askQuietly, component, before[component.id], stop)
          : await askField(lines, component, before[component.id], stop)
    }
    return payload
  } catch (error) {
    if (stop.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}

/** Asks for one line of text, outside of any form. */
async function promptLine(question: string): Promise<string | undefined> {
  const form: Form = { type: 'form', components: [{ id: 'answer', type: 'text', label: question }] }
  const payload = await promptForm({ prompt: '', form, before: {} })
  return payload === undefined ? undefined : String(payload['answer'] ?? '').trim()
}

/** Asks a yes/no question; anything but y or yes means no. */
export async function promptYes(question: string): Promise<boolean> {
  const answer = await promptLine(`${question} [y/N]`)
  return answer !== undefined && /^y(es)?$/i.test(answer)
}

async function askField(
  lines: Interface,
  component: Component,
  before: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const label = cleanLine(component.label ?? component.id)
  if (component.description !== undefined) process.stderr.write(`  ${cleanLine(component.description)}\n`)
  if (component.type === 'checkbox') {
    const standing = typeof before === 'boolean' ? before : (component.default ?? false)
    for (;;) {
      const answer = (await lines.question(`  ${label} [${standing ? 'Y/n' : 'y/N'}]: `, { signal })).trim()
      if (answer === '') return standing
      if (/^(y(es)?|true)$/i.test(answer)) return true
      if (/^(no?|false)$/i.test(answer)) return false
    }
  }
  if (component.type === 'select') return await askOption(lines, component, label, before, signal)
  const standing = typeof before === 'string' ? before : undefined
  const example = component.placeholder === undefined ? '' : ` (such as ${cleanLine(component.placeholder)})`
  const shown = standing === undefined || standing === '' ? example : ` [${cleanLine(standing)}]`
  if (component.type === 'textarea' && component.format !== undefined)
    return await askLines(lines, label, standing, signal)
  const answer = await lines.question(`  ${label}${shown}: `, { signal })
  return answer === '' && standing !== undefined ? standing : answer
}

/** A text of several lines, which ends with a line `.`; at once, it keeps the text that was given before. */
async function askLines(
  lines: Interface,
  label: string,
  standing: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const kept = standing === undefined || standing === '' ? '' : ` [${standing.split('\n').length} lines given]`
  process.stderr.write(`  ${label}${kept}, several lines; end with a line that has only "."\n`)
  const typed: string[] = []
  return await new Promise<string>((done, refuse) => {
    const end = (act: () => void) => {
      lines.off('line', take)
      signal.removeEventListener('abort', stop)
      act()
    }
    const stop = () => end(() => refuse(signal.reason))
    // By events and not by questions: a pasted text has more lines than one while no question is open, and they would be lost.
    const take = (line: string) => {
      if (line === '.') return end(() => done(typed.length === 0 ? (standing ?? '') : typed.join('\n')))
      typed.push(line)
      lines.prompt()
    }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    lines.on('line', take)
    lines.setPrompt('  | ')
    lines.prompt()
  })
}

/** A value that was given before is kept with an empty line, and is not shown. */
async function askSecret(
  askQuietly: QuietLines['askQuietly'],
  { id, label, description }: Component,
  before: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  if (description !== undefined) process.stderr.write(`  ${cleanLine(description)}\n`)
  const isGiven = typeof before === 'string' && before !== ''
  const hint = isGiven ? ' [given; not shown]' : ' (not shown)'
  const answer = await askQuietly(`  ${cleanLine(label ?? id)}${hint}: `, signal)
  return answer === '' && isGiven ? before : answer
}

async function askOption(
  lines: Interface,
  component: SelectComponent,
  label: string,
  before: unknown,
  signal: AbortSignal,
): Promise<OptionValue> {
  const isStanding = typeof before === 'string' || typeof before === 'number' || typeof before === 'boolean'
  const standing = isStanding ? before : component.default
  process.stderr.write(`  ${label}\n`)
  component.options.forEach((option, at) => {
    const mark = String(option.value) === String(standing ?? '') ? '*' : ' '
    process.stderr.write(`  ${mark} ${at + 1}. ${cleanLine(option.label)}\n`)
  })
  const shown = standing === undefined ? '' : ` [${cleanLine(String(standing))}]`
  for (;;) {
    const answer = (await lines.question(`  number or value${shown}: `, { signal })).trim()
    if (answer === '') return standing ?? ''
    const chosen =
      component.options.find(({ value }) => String(value) === answer)?.value ??
      component.options[Number(answer) - 1]?.value
    if (chosen !== undefined) return chosen
    for (const { message } of outsideOptions({ components: [component] }, { [component.id]: answer }))
      process.stderr.write(`  ${message}\n`)
  }
}
