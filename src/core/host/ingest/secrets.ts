/** Which secrets an instance has, and where they must not stay behind: its state and its stderr, at the end (R43, R45; threats B9). */
import { ResolveError } from '../../errors.ts'
import { COORDINATION_FILE_MAX_BYTES, JSON_MAX_DEPTH } from '../../limits.ts'
import { CONFIG_FILE, DATA_DIR, STATE_FILE, STATUS_FILE } from '../../protocol/coordination.ts'
import type { InstanceConfig } from '../../protocol/instance.ts'
import { isWithinDepth } from '../../protocol/json-depth.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'
import type { Redactor } from '../ledger/redact.ts'

/** The secret values of a config: what a worker got to know. */
export function secretsOf(config: InstanceConfig): string[] {
  const { credentials, git_provider: git, sub_container_token: token } = config
  return [credentials?.llm_provider_api_key, credentials?.git_host_token, git?.token, token, passwordIn(git?.base_url)]
    .filter((value) => typeof value === 'string')
    .filter((value) => value !== '')
}

/** The secrets in the config that lies with the worker: an earlier host may have had others. None where there is none. */
export function secretsInCoordination(coordination: CoordinationDirectory): string[] {
  try {
    const bytes = coordination.read(CONFIG_FILE, COORDINATION_FILE_MAX_BYTES)
    return bytes === undefined ? [] : secretsOf(JSON.parse(bytes.toString('utf8')) as InstanceConfig)
  } catch {
    // The resolver can write there: what it made of it says nothing.
    return []
  }
}

/** The credentials of this process, for what an instance left behind whose config is scrubbed by now. */
export function secretsOfHost(env: NodeJS.ProcessEnv = process.env): string[] {
  const base = passwordIn(env['RESOLVE_GIT_BASE_URL'])
  return [env['RESOLVE_LLM_PROVIDER_API_KEY'], env['RESOLVE_GIT_HOST_TOKEN'], base].filter(
    (value) => !!value,
  ) as string[]
}

/** Redacts state and result where they lie: after the config is scrubbed nobody knows any more what to look for. */
export function scrubFiles(coordination: CoordinationDirectory, redactor: Redactor): void {
  for (const file of [STATE_FILE, STATUS_FILE]) scrubFile(coordination, file, redactor)
}

function scrubFile(coordination: CoordinationDirectory, file: string, redactor: Redactor): void {
  const bytes = coordination.read(file, COORDINATION_FILE_MAX_BYTES)
  if (bytes === undefined || !redactor.suspects(bytes)) return
  let content: unknown
  try {
    content = JSON.parse(bytes.toString('utf8'))
  } catch {
    // Nothing that anybody could be shown.
    return
  }
  // Nor is what nests too deep to be handed on.
  if (!isWithinDepth(content, JSON_MAX_DEPTH)) return
  const clean = redactor.value(content)
  if (clean !== content) coordination.put(file, JSON.stringify(clean))
}

/** Paths below `data/` whose content holds a secret as it is: told, never changed, for their bytes are the resolver's work. */
export async function findInData(coordination: CoordinationDirectory, redactor: Redactor): Promise<string[]> {
  const found: string[] = []
  if (redactor.isIdle) return found
  let budget = DATA_SEARCH_MAX_BYTES
  for (const { path, bytes } of coordination.list(DATA_DIR, DATA_SEARCH_MAX_FILES)) {
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

/** Longer than any form of a secret that is likely to be cut by the end of a chunk. */
const OVERLAP_BYTES = 8 * 1024
const DATA_SEARCH_MAX_FILES = 1_000
const DATA_SEARCH_MAX_BYTES = 64 * 1024 * 1024

/** `https://user:password@host` is a secret too. */
function passwordIn(url: string | undefined): string {
  if (url === undefined || !URL.canParse(url)) return ''
  const { password } = new URL(url)
  try {
    return decodeURIComponent(password)
  } catch {
    return password
  }
}
