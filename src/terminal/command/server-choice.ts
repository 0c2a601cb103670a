/**
 * Decides whether a command uses this machine or a server (`--server`, `--context`, RESOLVE_URL, RESOLVE_CONTEXT, the config file), and
 * opens the server. For the base command and completion.
 */
import type { Platform } from '../../core/index.ts'
import { isLoopback } from '../../core/protocol/http.ts'
import { LOCAL, readConfig } from '../config/config-file.ts'
import { contextOf } from '../config/contexts.ts'
import { usage } from '../output/command-error.ts'

export interface ChosenServer {
  url: string
  from: '--server' | '--context' | 'RESOLVE_URL' | 'RESOLVE_CONTEXT' | 'the config file'
  /** The name of the context that it comes from. */
  context?: string
  /** The stored token of the context, and only that: RESOLVE_TOKEN may belong to another server. */
  token?: string | undefined
}

/**
 * Where a command works. `anywhere`: on this machine or a server. `here`: on this machine; refuses every choice of a server.
 * `always here`: on this machine; refuses `--server` and `--context` and ignores other choices, which are meant for other commands.
 */
export type Place = 'anywhere' | 'here' | 'always here'

export interface ServerFlags {
  server?: string | undefined
  context?: string | undefined
}

/** Flags take precedence over variables, and these over the config file; an empty variable counts as unset. Throws `config_invalid`. */
export function chosenServer(flags: ServerFlags, env: NodeJS.ProcessEnv = process.env): ChosenServer | undefined {
  const { server, context } = flags
  if (server !== undefined && context !== undefined) throw usage('Give --server or --context, not both.')
  if (server !== undefined) return { url: server, from: '--server' }
  if (context !== undefined) return inContext(context, '--context')
  const url = env['RESOLVE_URL']?.trim() ?? ''
  if (url !== '') return { url, from: 'RESOLVE_URL' }
  const named = env['RESOLVE_CONTEXT']?.trim() ?? ''
  if (named !== '') return inContext(named, 'RESOLVE_CONTEXT')
  const used = readConfig().context
  return used === undefined ? undefined : inContext(used, 'the config file')
}

function inContext(name: string, from: ChosenServer['from']): ChosenServer | undefined {
  if (name === LOCAL) return undefined
  const { url, token } = contextOf(readConfig(), name)
  return { url, from, context: name, token }
}

/** `https://build.example.com (context build)`; undefined for an address that is refused: it may hold a password. */
export function serverWords({ url, context }: { url: string; context?: string | undefined }): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, username, password, origin, pathname, search, hash } = new URL(url)
  const isPlain = /^https?:$/.test(protocol) && username + password + search + hash === ''
  if (!isPlain) return undefined
  const shown = `${origin}${pathname.replace(/\/+$/, '')}`
  return context === undefined ? shown : `${shown} (context ${context})`
}

/** Throws `usage` where the command works on this machine and a server was chosen. */
export function refuseElsewhere(place: Place, chosen: ChosenServer | undefined, words: string): void {
  if (place === 'anywhere' || chosen === undefined) return
  const what = `"resolve ${words}" works on this machine only`
  const { from } = chosen
  if (from === '--server' || from === '--context') {
    throw usage(`${what}: remove ${from}, or run the command on the server's machine.`)
  }
  if (place === 'always here') return
  const away = from === 'the config file' ? 'add --context local' : `unset it`
  const why = from === 'the config file' ? `the context ${chosen.context} is in use` : `${from} is set`
  throw usage(`${what}, but ${why}: ${away}, or run the command on the server's machine.`)
}

/** Calls `warn` if the token is sent unencrypted. Throws `usage` for a malformed address or token. */
export async function openServer(
  chosen: ChosenServer,
  warn: (sentence: string) => void = () => {},
  env: NodeJS.ProcessEnv = process.env,
): Promise<Platform> {
  const { openRemotePlatform } = await import('../../core/index.ts')
  const token = chosen.context === undefined ? env['RESOLVE_TOKEN'] : chosen.token
  const platform = openRemotePlatform({ url: chosen.url, token, door: 'cli' })
  const { protocol, hostname, host } = new URL(chosen.url)
  if (protocol === 'http:' && (token ?? '') !== '' && !isLoopback(hostname.replace(/^\[|\]$/g, ''))) {
    warn(`The token is sent unencrypted to ${host}: use https, or a tunnel.`)
  }
  return platform
}
