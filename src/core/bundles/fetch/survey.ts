/**
 * Reads fetched bundles in a thread: what they include and what can't run of them. A stranger's YAML can keep the parser busy for seconds, and the host
 * has other work. {@link file://./fetch-bundles.ts} calls it.
 */
import { Worker } from 'node:worker_threads'
import { fail } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import { BUNDLE_SURVEY_LIMIT_MS, BUNDLE_SURVEY_MEMORY_MB } from '../../limits.ts'
import type { BundleNote, BundlePlace, FoundPlace } from '../walk.ts'

export interface SurveyRequest {
  places: readonly BundlePlace[]
  /** What each address became that is known so far. */
  known: ReadonlyMap<string, FoundPlace>
}

export interface Survey {
  /** Addresses that are not known yet. */
  wanted: string[]
  notes: BundleNote[]
}

/** Throws `bundle_failed` where it does not come to an end in time or memory, and the signal's reason. */
export async function surveyBundles(
  request: SurveyRequest,
  signal: AbortSignal,
  limitMs = BUNDLE_SURVEY_LIMIT_MS,
): Promise<Survey> {
  signal.throwIfAborted()
  const worker = new Worker(programOf(), {
    workerData: request,
    resourceLimits: { maxOldGenerationSizeMb: BUNDLE_SURVEY_MEMORY_MB },
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  })
  const { promise, resolve, reject } = Promise.withResolvers<Survey>()
  const refuse = (reason: string) => {
    const bundle = request.places.map(({ name }) => name).join(', ')
    reject(fail('bundle_failed', { bundle, reason }))
  }
  const timer = setTimeout(() => refuse(`its files take longer than ${limitMs / 1_000} s to be read`), limitMs)
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  worker.once('message', (survey: Survey) => resolve(survey))
  worker.once('error', (error) => refuse(`its files can't be read: ${String(error)}`))
  worker.once('exit', () => refuse("its files can't be read"))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    await worker.terminate()
  }
}

function programOf(): string | URL {
  if (import.meta.url.endsWith('.ts')) return new URL('./survey-worker.ts', import.meta.url)
  return installedFile('bundles/survey-worker.js') ?? ''
}
