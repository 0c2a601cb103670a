/** What a node without a model answers: by script, by rule, or as a person says (docs/pipelines.md, Without a model). */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, normalize, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { form, select } from '../../sdk/index.ts'
import { failed, type Outcome, STATUSES } from '../engine/outcome.ts'
import { textOf } from '../language/graph.ts'
import type { Execution } from '../walks/walk.ts'
import { nameIn, placeOf, plainName } from './node-files.ts'
import { askPerson } from './question.ts'
import type { Run } from './run-parts.ts'
import { keyOf } from './run-view.ts'
import { labelOf } from './texts.ts'

export type NodeReply = { text: string; status: string | undefined } | { outcome: Outcome }

/** Undefined: the node is run as it is. Commands run as they are, unless the script has replies of theirs. */
export async function replyTo(run: Run, execution: Execution, dir: string): Promise<NodeReply | undefined> {
  const { answers } = run.options
  if (answers === undefined) return undefined
  const { node, scope } = execution
  const handler = scope.flow.handlers.get(node.id)
  if (answers.kind === 'rule') return { text: `Simulated: "${labelOf(node)}" was not run.`, status: 'success' }
  if (answers.kind === 'ask') return await asked(run, execution)
  const { replies: byNode } = answers
  const key = keyOf(scope.id, node.id)
  const replies = byNode.get(key) ?? byNode.get(node.id)
  if (replies === undefined) {
    if (handler === 'tool' || handler === 'wait.human') return undefined
    return { outcome: failed(`The script has no reply for "${key}".`) }
  }
  const place = run.replies.get(key) ?? 0
  run.replies.set(key, place + 1)
  const reply = replies[place]
  if (reply === undefined)
    return {
      outcome: failed(`The script has ${replies.length} replies for "${key}", and this is execution ${place + 1}.`),
    }
  if (reply.delay_ms !== undefined) await sleep(reply.delay_ms, undefined, { signal: execution.signal })
  for (const [path, text] of Object.entries(reply.files ?? {})) {
    const plain = normalize(path)
    if (isAbsolute(plain) || plain === '..' || plain.startsWith(`..${sep}`))
      return { outcome: failed(`The script writes "${path}", which is outside of the working directory.`) }
    const target = join(run.ctx.workingDirectory, plain)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, text)
  }
  if (reply.error !== undefined) {
    await run.files.write(dir, 'response.md', reply.error)
    return { outcome: failed(reply.error) }
  }
  return { text: reply.text, status: reply.status }
}

async function asked(run: Run, execution: Execution): Promise<NodeReply> {
  const { node, scope } = execution
  const labels = (scope.flow.outgoing.get(node.id) ?? []).flatMap(({ attributes }) => textOf(attributes, 'label') ?? [])
  const options = [...new Set([...STATUSES, ...labels])].slice(0, 50)
  const id = nameIn(run.walks.log, 'ask', `simulate ${placeOf(execution)}`, `simulate-${plainName(node.id)}`)
  run.view.waiting(execution, true)
  const fields = form({ outcome: select({ label: 'Ends as', options, default: 'success' }) })
  const question = { id, prompt: `How does "${labelOf(node)}" end?`, form: fields, closing: { outcome: 'skipped' } }
  const { outcome } = await askPerson(run, execution, question).finally(() => run.view.waiting(execution, false))
  return { text: JSON.stringify({ outcome }), status: undefined }
}
