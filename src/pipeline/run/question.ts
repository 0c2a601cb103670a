/** Asks a person for a node, and closes the question where the node ends before its answer (docs/pipelines.md, Nodes). */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { responseFile } from '../../core/protocol/coordination.ts'
import type { Form, Payload } from '../../sdk/index.ts'
import type { Execution } from '../walks/walk.ts'
import type { Run } from './run-parts.ts'

export interface Question {
  id: string
  prompt: string
  form: Form
  /** Its answer where the others of its branches have decided, or the time of a node around it is over: a question has no other end. */
  closing: Payload
  /** What answers it where no answer came in this time. */
  late?: { afterMs: number; answer: () => Payload }
}

/** Rejects when the signal of the execution aborts. */
export async function askPerson(run: Run, { signal }: Execution, question: Question): Promise<Payload> {
  const { id, prompt, form, closing, late } = question
  signal.throwIfAborted()
  // A stop of the run leaves it open: the run that goes on asks it again.
  const answered = new AbortController()
  const close = (payload: Payload) => {
    if (!run.ctx.signal.aborted) void answerByFile(run, id, payload, answered.signal)
  }
  const onAbort = () => close(closing)
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = late === undefined ? undefined : setTimeout(() => close(late.answer()), late.afterMs)
  try {
    const payload = await run.ctx.requestInput(id, prompt, form)
    signal.throwIfAborted()
    return payload
  } finally {
    answered.abort()
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

/** A host removes an answer that was there before it noticed the question. */
const NOTICED_MS = 1_000

/** Any program of the worker could write this file; the SDK takes the first answer that comes. Again where it was removed, until `answered`. */
async function answerByFile({ ctx }: Run, id: string, payload: Payload, answered: AbortSignal): Promise<void> {
  const path = join(process.env['RESOLVE_DIR'] ?? '', responseFile(id))
  while (!answered.aborted && !ctx.signal.aborted) {
    await sleep(NOTICED_MS, undefined, { signal: AbortSignal.any([answered, ctx.signal]) }).catch(() => {})
    if (answered.aborted || ctx.signal.aborted) return
    try {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(`${path}.new`, JSON.stringify(payload))
      await rename(`${path}.new`, path)
    } catch (error) {
      ctx.log(`Can't answer "${id}": ${String(error)}`, 'warn')
    }
  }
}
