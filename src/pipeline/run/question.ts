/** Asks a person for a node, and closes the question where the node ends before its answer (docs/pipelines.md, Nodes). */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
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
}

/** Rejects when the signal of the execution aborts. */
export async function askPerson(run: Run, { signal }: Execution, question: Question): Promise<Payload> {
  const { id, prompt, form, closing } = question
  signal.throwIfAborted()
  // A stop of the run leaves it open: the run that goes on asks it again.
  const close = () => {
    if (!run.ctx.signal.aborted) answerByFile(run, id, closing)
  }
  signal.addEventListener('abort', close, { once: true })
  try {
    const payload = await run.ctx.requestInput(id, prompt, form)
    signal.throwIfAborted()
    return payload
  } finally {
    signal.removeEventListener('abort', close)
  }
}

/** Any program of the worker could write this file; the SDK takes the first answer that comes. */
export function answerByFile({ ctx }: Run, id: string, payload: Payload): void {
  const path = join(process.env['RESOLVE_DIR'] ?? '', responseFile(id))
  const write = async () => {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(`${path}.new`, JSON.stringify(payload))
    await rename(`${path}.new`, path)
  }
  write().catch((error: unknown) => ctx.log(`Can't answer "${id}": ${String(error)}`, 'warn'))
}
