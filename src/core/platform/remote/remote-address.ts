/** Where a remote platform is and what every request to it carries, checked before anything is sent: for {@link file://./remote.ts}. */
import { fail } from '../../errors.ts'
import { API } from '../../protocol/http.ts'
import type { Actor } from '../../protocol/instance.ts'

/** A server's address, or the unix socket of a host on this machine, which treats its caller as the owner (R39). */
export type RemoteOptions =
  | {
      url: string
      /** Sent as the bearer token; an empty one is not sent. */
      token?: string | undefined
      /** The interface of the consumer, for the journal (R25); default: http. */
      door?: 'cli' | 'page' | undefined
      /** How long a broken event stream is retried without success, in ms; default 60 s. */
      waitLimitMs?: number
    }
  | {
      socket: string
      /** The actor of calls that name none. */
      actor?: Actor | undefined
      waitLimitMs?: number
    }

export interface RemoteAddress {
  /** The address in error messages: never with a secret. */
  shown: string
  origin: string
  /** The prefix of every path: the server's own prefix and /api. */
  base: string
  token: string | undefined
  door: 'cli' | 'page' | undefined
  socket: string | undefined
  actor: Actor | undefined
  waitLimitMs: number | undefined
}

/** Throws `usage` for an invalid address of a server, and for a token that a header cannot hold. */
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

/** Other text is not quoted in the error: it may contain a secret. */
function isHostAndPort(text: string): boolean {
  return /^(?:[a-z\d.-]+:\d{1,5}|localhost|\d{1,3}(?:\.\d{1,3}){3})\/?$/i.test(text)
}

function tokenOf(given: string | undefined): string | undefined {
  const token = given?.trim()
  if (token === undefined || token === '') return undefined
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw fail('usage', { problem: 'The token holds characters that no token has.' })
}
