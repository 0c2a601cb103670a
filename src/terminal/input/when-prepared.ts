/** Waits for the setup of a resolver that is not prepared, and shows it: for commands that need its form (R48). */
import { fail, ResolveError } from '../../core/errors.ts'
import type { Platform, PrepareOptions } from '../../core/index.ts'
import type { Executor } from '../../core/protocol/journal.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { setupLine } from '../../core/view/event-words.ts'
import { CommandError } from '../output/command-error.ts'
import { EXIT } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'

export interface PrepareWish {
  executor?: Executor | 'auto'
  output: Output
  /** Ends the wait with exit code 124. */
  timeoutMs?: number | undefined
}

/** Runs `ask`, after the setup where that is still to do. Throws the errors of both. */
export async function whenPrepared<T>(
  platform: Platform,
  resolver: string,
  wish: PrepareWish,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!isPreparing(error)) throw error
  }
  await showPreparation((options) => platform.prepare(resolver, options), resolver, wish)
  return await ask()
}

export function isPreparing(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'resolver_preparing'
}

/** Prepares the resolver, and prints each step once it begins, prints or ends. Returns how long it took. */
export async function showPreparation(
  prepare: (options: PrepareOptions) => Promise<void>,
  resolver: string,
  wish: PrepareWish,
): Promise<number> {
  const { output, executor, timeoutMs } = wish
  const startedMs = Date.now()
  let last = ''
  const say = (line: string) => {
    if (line !== last) output.note(output.paint('dim', line))
    last = line
  }
  const limit = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
  try {
    await prepare({
      ...(executor === undefined ? {} : { executor }),
      ...(limit === undefined ? {} : { signal: limit }),
      onProgress: (progress) => say(cleanLine(setupLine({ ...progress }))),
      onWait: (sentence) => say(cleanLine(sentence)),
    })
  } catch (error) {
    if (limit?.aborted !== true) throw error
    const problem = `The timeout has passed while ${resolver} was prepared. No instance was created.`
    throw new CommandError(fail('usage', { problem }, { cause: error }), {}, EXIT.timeout)
  }
  return Date.now() - startedMs
}
