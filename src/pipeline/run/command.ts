/** The handler `tool`: a shell command in the working directory, or in a sandbox (docs/pipelines.md, Nodes). */

import { isObject } from '../../core/primitives/is-object.ts'
import { ResolveError } from '../../sdk/index.ts'
import { runCommand } from '../../sessions/tools/run-command.ts'
import { listOf } from '../check/rules.ts'
import { failed, isTooDeep, type Outcome } from '../engine/outcome.ts'
import { textIn } from '../engine/select-edge.ts'
import { isOn, textOf } from '../language/graph.ts'
import type { Execution } from '../walks/walk.ts'
import { placeOf } from './node-files.ts'
import { replyTo } from './replies.ts'
import type { Run } from './run-parts.ts'
import { attributeOf } from './texts.ts'

const OUTPUT_MAX_BYTES = 1024 * 1024
/** Of `tool.output` in the context, which prompts and conditions read: its end. */
const CONTEXT_MAX_CHARS = 100_000
const REASON_MAX_CHARS = 2_000
const LIMIT_MS = 24 * 3_600_000

interface Printed {
  code: number | null
  stdout: string
  stderr: string
  /** Why it was not run. */
  refused?: string
}

export async function runTool(run: Run, execution: Execution, dir: string): Promise<Outcome> {
  const command = attributeOf(execution, 'tool_command')
  if (command === undefined) return failed(`"${execution.node.id}" has no tool_command.`)
  await run.files.write(dir, 'command.txt', `${command}\n`)
  const reply = await replyTo(run, execution, dir)
  if (reply !== undefined && 'outcome' in reply) return reply.outcome
  const printed: Printed =
    reply === undefined
      ? await (isOn(execution.node.attributes, 'sandbox') ? runInSandbox : runHere)(run, execution, command)
      : { code: reply.status === undefined || reply.status === 'success' ? 0 : 1, stdout: reply.text, stderr: '' }
  execution.signal.throwIfAborted()
  const { code, stdout, stderr, refused } = printed
  if (refused !== undefined) return failed(refused)
  await run.files.write(dir, 'output.txt', stderr === '' ? stdout : `${stdout}\n[stderr]\n${stderr}`)
  const updates = updatesOf(stdout, isOn(execution.node.attributes, 'parse_json'))
  if (code === 0) return { status: 'success', context_updates: updates }
  const said = (stderr.trim() === '' ? stdout : stderr).trim().slice(-REASON_MAX_CHARS)
  const reason = `The command ended with ${code === null ? 'a signal' : `exit code ${code}`}${said === '' ? '.' : `: ${said}`}`
  return { ...failed(reason), context_updates: { ...updates, 'tool.exit_code': code } }
}

function updatesOf(stdout: string, isJson: boolean): Record<string, unknown> {
  const lines = stdout.split(/\r?\n/).filter((line) => line.trim() !== '')
  const output = stdout.slice(-CONTEXT_MAX_CHARS)
  const updates: Record<string, unknown> = {
    'tool.output': output,
    'tool.last_line': (lines.at(-1) ?? '').trim().slice(0, REASON_MAX_CHARS),
    tool_stdout: output.trim(),
  }
  if (!isJson) return updates
  for (const text of [stdout, lines.at(-1) ?? '']) {
    try {
      const value: unknown = JSON.parse(text)
      if (isObject(value) && !isTooDeep(value)) return { ...value, ...updates }
    } catch {
      // The last line is looked at too: programs print before it.
    }
  }
  return updates
}

/** Names of the context as variables: `plan.title` is PLAN_TITLE. */
function environmentOf({ node, state }: Execution): Record<string, string> {
  return Object.fromEntries(
    listOf(textOf(node.attributes, 'tool_env') ?? '').map((key) => [
      key
        .replace(/^context\./, '')
        .replaceAll('.', '_')
        .toUpperCase(),
      textIn(state.context, key) ?? (key === 'goal' ? textIn(state.context, 'graph.goal') : undefined) ?? '',
    ]),
  )
}

async function runHere(run: Run, execution: Execution, command: string): Promise<Printed> {
  const [out, err] = [new Kept(), new Kept()]
  try {
    const { code } = await runCommand({
      command,
      cwd: run.ctx.workingDirectory,
      mark: `${placeOf(execution)} ${process.pid}`,
      isOfResolver: true,
      resolveDir: process.env['RESOLVE_DIR'] ?? '',
      sink: out,
      errors: err,
      environment: environmentOf(execution),
      limitMs: LIMIT_MS,
      signal: execution.signal,
    })
    return { code, stdout: out.text(), stderr: err.text() }
  } catch (error) {
    if (execution.signal.aborted) throw error
    // A NUL or a value that is too long, which other nodes left in the context; a working directory that is gone.
    return { code: null, stdout: '', stderr: '', refused: `The command can't be started: ${reasonOf(error)}.` }
  }
}

function reasonOf(error: unknown): string {
  const code = isObject(error) ? error['code'] : undefined
  if (code === 'E2BIG') return 'it is too long, or a value of its environment is'
  if (code === 'ERR_INVALID_ARG_VALUE') return 'it has a NUL character, or a value of its environment has'
  return typeof code === 'string' ? code : String(error)
}

async function runInSandbox(run: Run, execution: Execution, command: string): Promise<Printed> {
  const { signal } = execution
  try {
    await using sandbox = await run.ctx.sandbox()
    signal.throwIfAborted()
    // The sandbox is removed, and with it what runs in it.
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    const done = sandbox.exec(['sh', '-c', command], { environment: environmentOf(execution) })
    done.catch(() => undefined)
    const { exitCode, stdout, stderr } = await Promise.race([done, stopped])
    return { code: exitCode, stdout, stderr }
  } catch (error) {
    const isOfSandbox = error instanceof ResolveError && ['sandbox_refused', 'sandbox_lost'].includes(error.code)
    if (!isOfSandbox || signal.aborted) throw error
    return { code: null, stdout: '', stderr: '', refused: error.message }
  }
}

/** The end of what was printed, as text without control characters that terminals obey. */
class Kept {
  #chunks: Buffer[] = []
  #bytes = 0

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) > OUTPUT_MAX_BYTES)
      this.#bytes -= (this.#chunks.shift() as Buffer).length
  }

  text(): string {
    return Buffer.concat(this.#chunks).subarray(-OUTPUT_MAX_BYTES).toString('utf8').replaceAll('\0', '')
  }
}
