/** Decides whether a command uses this machine or a server (`--server`, RESOLVE_URL), and opens the server. For the base command and completion. */
import type { Platform } from '../../core/index.ts'
import { isLoopback } from '../../core/protocol/http.ts'
import { usage } from '../output/command-error.ts'

export interface ChosenServer {
  url: string
  from: '--server' | 'RESOLVE_URL'
}

/**
 * Where a command works. `anywhere`: on this machine or a server. `here`: on this machine; refuses `--server` and RESOLVE_URL.
 * `always here`: on this machine; refuses `--server` and ignores RESOLVE_URL, which is meant for other commands.
 */
export type Place = 'anywhere' | 'here' | 'always here'

/** The flag takes precedence over RESOLVE_URL; an empty variable counts as unset. */
export function chosenServer(flag: string | undefined, env: NodeJS.ProcessEnv = process.env): ChosenServer | undefined {
  if (flag !== undefined) return { url: flag, from: '--server' }
  const url = env['RESOLVE_URL']?.trim()
  return url === undefined || url === '' ? undefined : { url, from: 'RESOLVE_URL' }
}

/** Throws `usage` where the command works on this machine and a server was chosen. */
export function refuseElsewhere(place: Place, chosen: ChosenServer | undefined, words: string): void {
  if (place === 'anywhere' || chosen === undefined) return
  const what = `"resolve ${words}" works on this machine only`
  if (chosen.from === '--server') throw usage(`${what}: remove --server, or run the command on the server's machine.`)
  if (place === 'always here') return
  throw usage(`${what}, but RESOLVE_URL is set: unset it, or run the command on the server's machine.`)
}

/** Calls `warn` if the token is sent unencrypted. Throws `usage` for a malformed address or token. */
export async function openServer(
  chosen: ChosenServer,
  warn: (sentence: string) => void = () => {},
  env: NodeJS.ProcessEnv = process.env,
): Promise<Platform> {
  const { openRemotePlatform } = await import('../../core/index.ts')
  const token = env['RESOLVE_TOKEN']
  const platform = openRemotePlatform({ url: chosen.url, token, door: 'cli' })
  const { protocol, hostname, host } = new URL(chosen.url)
  if (protocol === 'http:' && (token ?? '') !== '' && !isLoopback(hostname.replace(/^\[|\]$/g, ''))) {
    warn(`The token is sent unencrypted to ${host}: use https, or a tunnel.`)
  }
  return platform
}
