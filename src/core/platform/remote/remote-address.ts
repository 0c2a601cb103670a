/** Where a remote platform is and what every request to it carries, checked before anything is sent: for {@link file://./remote.ts}. */
import { fail } from '../../errors.ts'
import { API } from '../../protocol/http.ts'
import type { Actor } from '../../protocol/instance.ts'

/** A server's address, or the unix socket of a host of this machine, whose caller is its owner (R39). */
export type RemoteOptions =
  | {
      url: string
      /** Sent as the bearer token; empty counts as none. */
      token?: string | undefined
      /** By which door the consumer comes, for the journal (R25); default: http. */
      door?: 'cli' | 'page' | undefined
      /** How long an event stream that broke is tried again without success, in ms; default 60 s. */
      waitLimitMs?: number
    }
  | {
      socket: string
      /** Who acts, where an act does not say it. */
      actor?: Actor | undefined
      waitLimitMs?: number
    }

export interface RemoteAddress {
  /** As errors name it: never with a secret. */
  shown: string
  origin: string
  /** What stands before every path: the server's own prefix and /api. */
  base: string
  token: string | undefined
  door: 'cli' | 'page' | undefined
  socket: string | undefined
  actor: Actor | undefined
  waitLimitMs: number | undefined
}

/** Throws `usage` for what is no address of a server, and for a token that can't travel in a header. */
export function addressOf(options: RemoteOptions): RemoteAddress {
  const { waitLimitMs } = options
  if ('socket' in options) {
    const { socket, actor } = options
    const unused = { token: undefined, door: undefined }
    return { shown: `unix:${socket}`, origin: 'http://localhost', base: API, socket, actor, waitLimitMs, ...unused }
  }
  const url = serverUrl(options.url)
  const prefix = url.pathname.replace(/\/+$/, '')
  const shown = `${url.origin}${prefix}`
  const token = tokenOf(options.token)
  const here = { socket: undefined, actor: undefined }
  return { shown, origin: url.origin, base: `${prefix}${API}`, token, door: options.door, waitLimitMs, ...here }
}

/** `http(s)://host[:port][/prefix]`. Throws `usage`. */
export function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    const meant = isHostAndPort(text) ? ` Did you mean http://${text}?` : ''
    throw fail('usage', { problem: `The address of a server begins with http:// or https://.${meant}` })
  }
  if (url.username !== '' || url.password !== '') {
    const problem = 'The address of a server holds no name and no password; a token is given in RESOLVE_TOKEN.'
    throw fail('usage', { problem })
  }
  if (url.search !== '' || url.hash !== '') {
    throw fail('usage', { problem: 'The address of a server has neither "?" nor "#".' })
  }
  if (new RegExp(`${API}/*$`).test(url.pathname)) {
    throw fail('usage', { problem: `The address of a server ends before ${API}: leave out ${API}.` })
  }
  return url
}

/** Anything else is not repeated: whatever was meant may hold a secret. */
function isHostAndPort(text: string): boolean {
  return /^(?:[a-z\d.-]+:\d{1,5}|localhost|\d{1,3}(?:\.\d{1,3}){3})\/?$/i.test(text)
}

function tokenOf(given: string | undefined): string | undefined {
  const token = given?.trim()
  if (token === undefined || token === '') return undefined
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw fail('usage', { problem: 'The token holds characters that no token has.' })
}
