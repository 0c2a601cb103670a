/** The handler `wait.human`: a question whose choices are the edges (docs/pipelines.md, Nodes). */
import { form, select, textarea } from '../../sdk/index.ts'
import { failed, type Outcome } from '../engine/outcome.ts'
import { acceleratorOf, plainLabel } from '../engine/select-edge.ts'
import { durationOf, textOf } from '../language/graph.ts'
import type { Execution } from '../walks/walk.ts'
import { attachmentsOf } from './attachments.ts'
import { nameIn, openFor, placeOf, plainName } from './node-files.ts'
import { askPerson } from './question.ts'
import { replyTo } from './replies.ts'
import type { Run } from './run-parts.ts'
import { attributeOf, expanded, labelOf } from './texts.ts'

interface Choice {
  /** The label without its key, as it is answered. */
  value: string
  label: string
  key: string
  to: string
}

type Answer = { kind: 'choice'; choice: Choice } | { kind: 'text'; text: string } | { kind: 'timeout' }

const TOO_LATE = 'no answer in time'
const RESPONSE_MAX_CHARS = 200

export async function runGate(run: Run, execution: Execution, dir: string, attempt: number): Promise<Outcome> {
  const { node } = execution
  const mode = textOf(node.attributes, 'mode') ?? ''
  const choices = mode === 'yes_no' ? YES_NO : choicesOf(execution)
  const isText = mode === 'freeform'
  if (choices.length === 0 && !isText) return failed(`No edge leaves the question "${node.id}".`)
  // A run that goes on asks what it asked, whatever became of the files that it showed.
  const asked = (await run.files.read(dir, 'prompt.md')) ?? (await promptOf(run, execution, dir))
  if (typeof asked !== 'string') return failed(asked.problem)
  await run.files.write(dir, 'prompt.md', asked)
  const answer =
    (await scripted(run, execution, dir, choices, isText)) ??
    (run.options.isAutoApproved
      ? isText
        ? ({ kind: 'text', text: 'Approved.' } as const)
        : ({ kind: 'choice', choice: choices[0] as Choice } as const)
      : await askedOf(run, execution, asked, choices, isText, attempt))
  if ('outcome' in answer) return answer.outcome
  const outcome = outcomeOf(execution, answer, mode, choices)
  const said = answer.kind === 'choice' ? answer.choice.label : answer.kind === 'text' ? answer.text : TOO_LATE
  await run.files.write(dir, 'response.md', said)
  return outcome
}

async function promptOf(run: Run, execution: Execution, dir: string): Promise<string | { problem: string }> {
  const attached = await attachmentsOf(run, execution, dir)
  if ('problem' in attached) return attached
  return [
    expanded(labelOf(execution.node), execution),
    attributeOf(execution, 'prompt'),
    attributeOf(execution, 'description'),
    attached.text,
  ]
    .filter((one, index, all) => one !== undefined && one !== '' && all.indexOf(one) === index)
    .join('\n\n')
}

const YES_NO: Choice[] = [
  { value: 'yes', label: 'Yes', key: 'Y', to: '' },
  { value: 'no', label: 'No', key: 'N', to: '' },
]

function choicesOf(execution: Execution): Choice[] {
  const { scope, node } = execution
  const seen = new Set<string>()
  return (scope.flow.outgoing.get(node.id) ?? []).flatMap(({ to, attributes }) => {
    const label = expanded(textOf(attributes, 'label')?.trim() || to, execution)
    const value = plainLabel(label)
    if (seen.has(value)) return []
    seen.add(value)
    return [{ value, label, key: acceleratorOf(label), to }]
  })
}

async function scripted(run: Run, execution: Execution, dir: string, choices: readonly Choice[], isText: boolean) {
  if (run.options.answers?.kind !== 'script') return undefined
  const reply = await replyTo(run, execution, dir)
  if (reply === undefined || 'outcome' in reply) return reply
  if (isText) return { kind: 'text', text: reply.text } as const
  const choice = choiceNamed(choices, reply.text)
  if (choice !== undefined) return { kind: 'choice', choice } as const
  const known = choices.map(({ label }) => `"${label}"`).join(', ')
  return { outcome: failed(`The script answers "${reply.text}" to "${execution.node.id}", which has ${known}.`) }
}

async function askedOf(
  run: Run,
  execution: Execution,
  prompt: string,
  choices: readonly Choice[],
  isText: boolean,
  attempt: number,
): Promise<Answer> {
  const { node } = execution
  const use = `${placeOf(execution)}!${attempt}`
  const id = nameIn(run.walks.log, 'ask', use, plainName(node.id))
  const limit = durationOf(textOf(node.attributes, 'timeout') ?? '', 1_000)
  const byDefault = defaultOf(execution, choices)
  const options = choices.map(({ value, label }) => ({ value, label }))
  const isOpenEnded = limit !== undefined && byDefault === undefined
  if (isOpenEnded && !isText) options.push({ value: TOO_LATE, label: 'No answer' })
  const fields = isText
    ? form({ text: textarea({ label: 'Answer', required: true }) })
    : form({ choice: select({ label: 'Choice', options, required: true }) })
  run.view.waiting(execution, true)
  run.view.emit(execution, 'interview_started', { request_id: id })
  let isLate = false
  // A question stays open until it is answered: after its time the pipeline answers it by file.
  const answerLate = () => {
    isLate = true
    run.view.emit(execution, 'interview_timeout', { request_id: id })
    const said = byDefault?.value ?? TOO_LATE
    return isText ? { text: said } : { choice: said }
  }
  const afterMs = limit === undefined ? 0 : Math.max(0, limit - openFor(run.walks.log, use))
  const late = limit === undefined ? {} : { late: { afterMs, answer: answerLate } }
  try {
    const closing = isText ? { text: TOO_LATE } : { choice: options.at(-1)?.value ?? '' }
    const payload = await askPerson(run, execution, { id, prompt, form: fields, closing, ...late })
    const said = payload[isText ? 'text' : 'choice']
    const text = typeof said === 'string' ? said : ''
    run.view.emit(execution, 'interview_completed', { request_id: id, label: text.slice(0, RESPONSE_MAX_CHARS) })
    if (text === TOO_LATE && (isLate || isOpenEnded)) return { kind: 'timeout' }
    if (isText) return { kind: 'text', text }
    return { kind: 'choice', choice: choiceNamed(choices, text) ?? (choices[0] as Choice) }
  } finally {
    run.view.waiting(execution, false)
  }
}

/** Named by target, key or label. */
function defaultOf(execution: Execution, choices: readonly Choice[]): Choice | undefined {
  const named = attributeOf(execution, 'human.default_choice')
  return named === undefined ? undefined : choiceNamed(choices, named)
}

function choiceNamed(choices: readonly Choice[], named: string): Choice | undefined {
  const wanted = named.trim()
  return (
    choices.find(({ value, label, to }) => [value, label, to].includes(wanted) || value === plainLabel(wanted)) ??
    choices.find(({ key }) => key === wanted.toUpperCase())
  )
}

function outcomeOf({ node, scope }: Execution, answer: Answer, mode: string, choices: readonly Choice[]): Outcome {
  if (answer.kind === 'timeout') return { status: 'retry', failure_reason: `No answer to "${node.id}" in time.` }
  const said = answer.kind === 'choice' ? answer.choice.label : answer.text
  const updates = { last_stage: node.id, last_response: said.slice(0, RESPONSE_MAX_CHARS) }
  if (answer.kind === 'text') {
    const targets = [...new Set((scope.flow.outgoing.get(node.id) ?? []).map(({ to }) => to))]
    return {
      status: 'success',
      ...(targets.length === 0 ? {} : { suggested_next_ids: targets }),
      context_updates: { ...updates, 'human.gate.text': answer.text },
    }
  }
  const { choice } = answer
  const chosen = { ...updates, 'human.gate.selected': choice.key, 'human.gate.label': choice.label }
  if (mode === 'yes_no')
    return choice.value === 'yes'
      ? { status: 'success', preferred_label: 'yes', context_updates: chosen }
      : { ...failed(`The answer to "${node.id}" is no.`), preferred_label: 'no', context_updates: chosen }
  return {
    status: 'success',
    preferred_label: choice.value,
    suggested_next_ids: choices.length === 0 ? [] : [choice.to],
    context_updates: { ...chosen, preferred_label: choice.value },
  }
}
