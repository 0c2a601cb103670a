/** Finds the secrets of an instance, and redacts them in its files at its end: state, result, stderr (R43, R45; threats B9). */
import { ResolveError } from '../../errors.ts'
import { COORDINATION_FILE_MAX_BYTES, JSON_MAX_DEPTH } from '../../limits.ts'
import { isWithinDepth } from '../../primitives/json-depth.ts'
import { CONFIG_FILE, DATA_DIR, requestFile, STATE_FILE, STATUS_FILE } from '../../protocol/coordination.ts'
import type { InstanceConfig } from '../../protocol/instance.ts'
import { passwordIn, secretsOf } from '../../redaction/config-secrets.ts'
import type { Redactor } from '../../redaction/redact.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'

/** The secrets in the worker's config, because an earlier host may have had others. Empty without a config. */
export function secretsInCoordination(coordination: CoordinationDirectory): string[] {
  try {
    const bytes = coordination.read(CONFIG_FILE, COORDINATION_FILE_MAX_BYTES)
    return bytes === undefined ? [] : secretsOf(JSON.parse(bytes.toString('utf8')) as InstanceConfig)
  } catch {
    // The resolver can write to this file, so a broken one is ignored.
    return []
  }
}

/** The credentials of this process, for an instance whose config is already scrubbed. */
export function secretsOfHost(env: NodeJS.ProcessEnv = process.env): string[] {
  const urls = [env['RESOLVE_GIT_BASE_URL'], env['RESOLVE_LLM_BASE_URL']].map(passwordIn)
  return [env['RESOLVE_LLM_PROVIDER_API_KEY'], env['RESOLVE_GIT_HOST_TOKEN'], ...urls].filter(
    (value) => !!value,
  ) as string[]
}

/** Redacts state, result and the files of questions in place: once the config is scrubbed, the values to look for are lost. */
export function scrubFiles(coordination: CoordinationDirectory, redactor: Redactor, requests: readonly string[]): void {
  for (const file of [STATE_FILE, STATUS_FILE, ...requests.map(requestFile)]) scrubFile(coordination, file, redactor)
}

function scrubFile(coordination: CoordinationDirectory, file: string, redactor: Redactor): void {
  const bytes = coordination.read(file, COORDINATION_FILE_MAX_BYTES)
  if (bytes === undefined || !redactor.suspects(bytes)) return
  let content: unknown
  try {
    content = JSON.parse(bytes.toString('utf8'))
  } catch {
    // Not JSON, so it is never served.
    return
  }
  // A value nested too deep is never served either.
  if (!isWithinDepth(content, JSON_MAX_DEPTH)) return
  const clean = redactor.value(content)
  if (clean !== content) coordination.put(file, JSON.stringify(clean))
}

/**
 * Paths below `data/` whose content holds a secret value. They are reported and never changed, because their bytes belong to
 * the resolver.
 */
export async function findInData(coordination: CoordinationDirectory, redactor: Redactor): Promise<string[]> {
  const found: string[] = []
  if (redactor.isIdle) return found
  let budget = DATA_SEARCH_MAX_BYTES
  for (const { path, bytes } of await coordination.list(DATA_DIR, DATA_SEARCH_MAX_FILES)) {
    if (budget <= 0) break
    budget -= bytes
    if (await holdsSecret(coordination, `${DATA_DIR}/${path}`, redactor)) found.push(path)
  }
  return found
}

async function holdsSecret(coordination: CoordinationDirectory, path: string, redactor: Redactor): Promise<boolean> {
  try {
    const file = coordination.open(path)
    if (file === undefined) return false
    let before: Buffer = Buffer.alloc(0)
    for await (const chunk of file.read(0, Math.min(file.bytes, DATA_SEARCH_MAX_BYTES))) {
      const window = Buffer.concat([before, chunk])
      if (redactor.holds(window)) return true
      before = window.subarray(-OVERLAP_BYTES)
    }
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error
  }
  return false
}

/** Longer than any encoding of a secret that a chunk boundary is likely to cut. */
const OVERLAP_BYTES = 8 * 1024
const DATA_SEARCH_MAX_FILES = 1_000
const DATA_SEARCH_MAX_BYTES = 64 * 1024 * 1024
