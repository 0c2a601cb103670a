/** Whether a command talks to this machine or to a server (`--server`, RESOLVE_URL), and with what: for the base command and completion. */
import type { Platform } from '../../core/index.ts'
import { isLoopback } from '../../core/protocol/http.ts'
import { usage } from '../output/command-error.ts'

export interface ChosenServer {
  url: string
  from: '--server' | 'RESOLVE_URL'
}

/**
 * Where a command can work: `anywhere`; `here`, and neither `--server` nor RESOLVE_URL may say otherwise; or `always here`, where
 * RESOLVE_URL means other commands and nobody could think that it means this one.
 */
export type Place = 'anywhere' | 'here' | 'always here'

/** The flag wins; an empty variable counts as unset. */
export function chosenServer(flag: string | undefined, env: NodeJS.ProcessEnv = process.env): ChosenServer | undefined {
  if (flag !== undefined) return { url: flag, from: '--server' }
  const url = env['RESOLVE_URL']?.trim()
  return url === undefined || url === '' ? undefined : { url, from: 'RESOLVE_URL' }
}

/** Throws `usage` where the command works on this machine and a server was chosen. */
export function refuseElsewhere(place: Place, chosen: ChosenServer | undefined, words: string): void {
  if (place === 'anywhere' || chosen === undefined) return
  const what = `"resolve ${words}" works on this machine only`
  if (chosen.from === '--server') throw usage(`${what}: leave out --server, or give the command over there.`)
  if (place === 'always here') return
  throw usage(`${what}, and RESOLVE_URL names a server: give the command over there, or with RESOLVE_URL empty.`)
}

/** `warn` is told where the token can be read on the way. Throws `usage` for an address or a token that can't be one. */
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
    warn(`The token travels unencrypted to ${host}: use https, or a tunnel.`)
  }
  return platform
}
