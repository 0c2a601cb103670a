/** The handlers `codergen` and `prompt`: a session of a model, its verdict, and the session that several nodes share (docs/pipelines.md, Models; Outcomes). */
import { lstat, mkdir, readFile, rm } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { needsNoKey } from '../../core/protocol/session/session.ts'
import type { Session, SessionOptions } from '../../sdk/index.ts'
import { ResolveError } from '../../sdk/index.ts'
import { failed, type Outcome, outcomeOf } from '../engine/outcome.ts'
import { integerOf, isOn, textOf } from '../language/graph.ts'
import { REASONING_EFFORTS } from '../language/reasoning.ts'
import { parseStylesheet, type StyleRule, styleOf } from '../language/stylesheet.ts'
import type { Execution } from '../walks/walk.ts'
import { nameIn, placeOf, plainName } from './node-files.ts'
import { replyTo } from './replies.ts'
import type { Run, Thread } from './run-parts.ts'
import { attributeOf, expanded, fidelityOf, labelOf, preambleOf, threadOf } from './texts.ts'
import { hooksOf } from './tool-hooks.ts'

/** Of `last_response`, which prompts and conditions of later nodes read. */
const RESPONSE_MAX_CHARS = 8_000
const OUTPUT_MAX_CHARS = 100_000
const STATUS_MAX_BYTES = 256 * 1024

/** `given`: what it is asked, where that is not the prompt of the node. */
export async function runAgent(
  run: Run,
  execution: Execution,
  dir: string,
  attempt: number,
  given?: string,
): Promise<Outcome> {
  const { node, scope, signal } = execution
  const hasTools = scope.flow.handlers.get(node.id) === 'codergen'
  const asked = given === undefined ? askedOf(run, execution) : { text: given }
  if ('problem' in asked) return failed(asked.problem)
  const isGate = isOn(node.attributes, 'goal_gate') && !hasProse(run, execution)
  const use = `${placeOf(execution)}!${attempt}`
  const reply = await replyTo(run, execution, dir)
  if (reply !== undefined) {
    const before = preambleOf(execution, fidelityOf(execution))
    await run.files.write(dir, 'prompt.md', before === '' ? asked.text : `${before}\n\n${asked.text}`)
    if ('outcome' in reply) return reply.outcome
    await run.files.write(dir, 'response.md', reply.text)
    return withResponse(execution, verdictOf(reply.text, undefined, isGate, reply.status), reply.text)
  }

  const statusShown = hasTools ? await statusPathFor(run, dir, use, attempt) : undefined
  const fidelity = fidelityOf(execution)
  const thread = fidelity === 'full' ? await threadFor(run, execution) : undefined
  const session = thread?.session ?? (await openSession(run, execution, use, node.id))
  run.view.session(execution, session.id)
  const isFollowUp = thread !== undefined && thread.turns > 0
  const preamble = isFollowUp ? '' : preambleOf(execution, fidelity)
  const prompt = [preamble, asked.text, verdictWords(statusShown, isGate)].filter((one) => one !== '').join('\n\n')
  await run.files.write(dir, 'prompt.md', prompt)

  const say = async (text: string) => {
    const number = thread === undefined ? {} : { number: thread.turns + 1 }
    const answer = await session.run(text, { signal, ...number })
    if (thread !== undefined) thread.turns += 1
    run.view.cost(execution, answer.cost_usd)
    return answer.output
  }
  try {
    let output = await say(prompt)
    let status = await readStatus(statusShown)
    let outcome = verdictOf(output, status, isGate, undefined)
    if (isGate && outcome.status === 'retry' && status === undefined) {
      // Asked once in the same session: cheaper than the work again.
      output = await say(`You gave no verdict. ${verdictWords(statusShown, true)}`)
      status = await readStatus(statusShown)
      outcome = verdictOf(output, status, isGate, undefined)
    }
    await run.files.write(dir, 'response.md', output)
    const told = withResponse(execution, outcome, output)
    return thread === undefined ? told : { ...told, thread: { name: threadOf(execution), turns: thread.turns } }
  } catch (error) {
    return ofFailure(error, signal)
  }
}

/** Empty before the session begins, and left as it is where one that was cut goes on: what it wrote then counts. */
async function statusPathFor({ ctx, walks }: Run, dir: string, use: string, attempt: number): Promise<string> {
  const folder = join(ctx.config.workspace_path, '.pipeline', dir, ...(attempt === 1 ? [] : [`attempt-${attempt}`]))
  const path = join(folder, 'status.json')
  if (!walks.log.knows(`status ${use}`)) {
    await rm(path, { force: true, recursive: true })
    await mkdir(folder, { recursive: true })
    nameIn(walks.log, 'status', use, plainName(dir))
  }
  return path
}

/** Ends of a session that are of the node; others are of the run, such as a budget that is used up or a missing key. */
function ofFailure(error: unknown, signal: AbortSignal): Outcome {
  if (signal.aborted || !(error instanceof ResolveError)) throw error
  switch (error.code) {
    case 'session_failed':
      return { status: 'retry', failure_reason: error.message }
    case 'session_refused':
    case 'session_limit':
    case 'session_stuck':
    case 'session_answer_invalid':
    case 'input_too_large':
      return failed(error.message)
    default:
      throw error
  }
}

function hasProse({ options }: Run, { scope }: Execution): boolean {
  return options.hasProseGates || textOf(scope.flow.graph.attributes, 'prose_gates') === 'pass'
}

function verdictOf(reply: string, statusFile: string | undefined, needsVerdict: boolean, status: string | undefined) {
  const said = status === undefined ? statusFile : JSON.stringify({ outcome: status })
  return outcomeOf({ statusFile: said, reply, needsVerdict })
}

function withResponse({ node }: Execution, outcome: Outcome, output: string): Outcome {
  const updates = {
    last_stage: node.id,
    last_response: output.slice(0, RESPONSE_MAX_CHARS),
    ...outcome.context_updates,
  }
  return { ...outcome, output: output.slice(0, OUTPUT_MAX_CHARS), context_updates: updates }
}

/** `@path` alone is a file beside the pipeline. */
function askedOf(run: Run, execution: Execution): { text: string } | { problem: string } {
  const { node, scope } = execution
  const session = textOf(node.attributes, 'session')
  const written = textOf(node.attributes, 'prompt')
  const path = /^@(\S+)$/.exec(written?.trim() ?? '')?.[1]
  if (path !== undefined) {
    const text = run.fileOf(posix.join(posix.dirname(scope.file), path))
    return text === undefined
      ? { problem: `The prompt "@${path}" is no file of the pipeline.` }
      : { text: expanded(text, execution) }
  }
  const text = written === undefined || written.trim() === '' ? labelOf(node) : written
  const asBundle = session === undefined || session.startsWith('@') ? '' : `${session}\n\n`
  return { text: expanded(`${asBundle}${text}`, execution) }
}

function verdictWords(statusPath: string | undefined, isGate: boolean): string {
  const shape =
    '{"outcome": "success" | "fail" | "partial_success" | "retry", "preferred_label": "", "context_updates": {}, "notes": ""}'
  const need = isGate ? 'A verdict is needed' : 'You may give a verdict on your work'
  return statusPath === undefined
    ? isGate
      ? `${need}: end your answer with a JSON object of this shape: ${shape}`
      : ''
    : `${need}: write JSON of this shape to ${statusPath}, or end your answer with it: ${shape}`
}

async function readStatus(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  // The session chose what is at this path: a FIFO would be waited for.
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return undefined
  if (!found.isFile() || found.size > STATUS_MAX_BYTES) return 'no status'
  return await readFile(path, 'utf8')
}

const styles = new WeakMap<object, StyleRule[]>()

function styleFor({ scope, node }: Execution): ReadonlyMap<string, string> {
  const { graph } = scope.flow
  const known = styles.get(graph)
  const parsed = known === undefined ? parseStylesheet(textOf(graph.attributes, 'model_stylesheet') ?? '') : undefined
  const rules = known ?? (parsed?.isOk === true ? parsed.rules : [])
  styles.set(graph, rules)
  return styleOf(rules, node)
}

const PROVIDERS: readonly [RegExp, string][] = [
  [/^claude/i, 'anthropic'],
  [/^(?:gpt|o\d|codex)/i, 'openai'],
  [/^gemini/i, 'google'],
]

/** Where the run itself has a scripted or recorded model, all nodes have it: the names of others are for real runs. */
function modelOf(run: Run, execution: Execution): string | undefined {
  const ofRun = run.options.model ?? run.ctx.config.llm?.model ?? ''
  if (needsNoKey(ofRun)) return run.options.model
  const style = styleFor(execution)
  const model = attributeOf(execution, 'llm_model') ?? style.get('llm_model')
  if (model === undefined) return run.options.model
  if (model.includes('/')) return model
  const provider =
    attributeOf(execution, 'llm_provider') ??
    style.get('llm_provider') ??
    PROVIDERS.find(([names]) => names.test(model))?.[1] ??
    ofRun.split('/')[0]
  return provider === undefined || provider === '' ? model : `${provider}/${model}`
}

async function openSession(run: Run, execution: Execution, use: string, wanted: string): Promise<Session> {
  const { node, scope } = execution
  const name = nameIn(run.walks.log, 'session', use, plainName(wanted).toLowerCase())
  const model = modelOf(run, execution)
  const steps = integerOf(node.attributes, 'max_agent_turns')
  const effort = (
    attributeOf(execution, 'reasoning_effort') ?? styleFor(execution).get('reasoning_effort')
  )?.toLowerCase()
  // Of another word the check warned.
  const reasoning = REASONING_EFFORTS.find((one) => one === effort)
  const hooks = hooksOf(run, execution)
  const agent = /^@(\S+)$/.exec(textOf(node.attributes, 'session')?.trim() ?? '')?.[1]
  const options: SessionOptions = {
    cwd: run.ctx.workingDirectory,
    ...(model === undefined ? {} : { model }),
    ...(agent === undefined ? {} : { agent }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(hooks === undefined ? {} : { hooks }),
    ...(steps === undefined || steps < 1 ? {} : { limits: { steps } }),
    ...(scope.flow.handlers.get(node.id) === 'codergen' ? {} : { tools: [], bundles: false }),
  }
  return await run.ctx.sessions.create(name, options)
}

function threadFor(run: Run, execution: Execution): Promise<Thread> {
  const key = threadOf(execution)
  const known = run.threads.get(key)
  if (known !== undefined) return known
  const opened = openSession(run, execution, `thread ${key}`, key.slice(key.indexOf('#') + 1)).then((session) => ({
    session,
    turns: run.turnsBefore.get(key) ?? 0,
  }))
  run.threads.set(key, opened)
  return opened
}
