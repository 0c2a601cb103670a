/**
 * Refuses requests from pages of other sites, before routing and before any token is read (R37; threats WEB-1, WEB-2): only
 * exact names of this server in `Host`, only our own `Origin`, no cross-site request to the API. There are no CORS headers.
 */
import type { IncomingMessage } from 'node:http'
import { fail } from '../../core/errors.ts'
import { API } from '../../core/protocol/http.ts'

export interface Guard {
  /** Throws `host_refused` (421) or `origin_refused` (403). */
  check(request: IncomingMessage): void
}

export interface GuardOptions {
  /** The host that the server listens on: a name or an address, without brackets and without a port. */
  boundHost?: string
  /** From `--allowed-host`: `name`, `name:port` or `[address]:port`; without a port, any port is allowed. Throws `usage`. */
  allowedHosts?: readonly string[]
}

interface Authority {
  /** Lower case; an IPv6 address has brackets. */
  name: string
  port: string | undefined
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/

/** For a unix socket, which no browser can open. */
export const noGuard: Guard = { check() {} }

export function hostGuard({ boundHost, allowedHosts = [] }: GuardOptions = {}): Guard {
  const own = new Set(boundHost === undefined ? LOOPBACK : [...LOOPBACK, bracketed(boundHost)])
  const allowed = allowedHosts.map(toAllowed)

  /** `port` is the port that got the request; our own names are allowed with exactly that port. */
  function isOurs(host: Authority, port: number | undefined): boolean {
    if (own.has(host.name) && (host.port ?? '80') === String(port)) return true
    return allowed.some(({ name, port }) => name === host.name && (port === undefined || port === host.port))
  }

  return {
    check(request) {
      const { headers, rawHeaders, socket, url = '/' } = request
      const host = parseAuthority(headers.host)
      if (host === undefined || count(rawHeaders, 'host') !== 1 || !isOurs(host, socket.localPort)) {
        throw fail('host_refused', host === undefined ? {} : { host: String(headers.host).slice(0, 120) })
      }
      // Node joins a repeated header with a comma, which matches no name.
      if (!isOwnOrigin(headers.origin, host, allowed)) throw fail('origin_refused', {})
      if (isApi(url) && !isSameSite(rawHeaders)) throw fail('origin_refused', {})
    },
  }
}

/** The called origin; or an allowed name as a proxy sees it, which may not pass the Host header on. */
function isOwnOrigin(origin: string | undefined, host: Authority, allowed: readonly Authority[]): boolean {
  if (origin === undefined) return true
  const [, scheme, rest] = /^(https?):\/\/([^/]*)$/.exec(origin.toLowerCase()) ?? []
  const from = parseAuthority(rest)
  if (from === undefined) return false
  const usual = scheme === 'https' ? '443' : '80'
  const isSame = (other: Authority) => other.name === from.name && (other.port ?? usual) === (from.port ?? usual)
  return isSame(host) || allowed.some(isSame)
}

/** Every current browser sends Sec-Fetch-Site; other clients do not. */
function isSameSite(rawHeaders: readonly string[]): boolean {
  return valuesOf(rawHeaders, 'sec-fetch-site').every((value) => ['same-origin', 'none'].includes(value))
}

/** Decoded once, as the router does: `/%61pi` is the API too. An address that cannot be decoded counts as the API. */
function isApi(url: string): boolean {
  const path = url.split(/[?#;]/, 1)[0] ?? ''
  try {
    return decodeURIComponent(path).startsWith(API)
  } catch {
    return true
  }
}

function toAllowed(text: string): Authority {
  const given = text.trim().toLowerCase()
  const parsed = parseAuthority(given.split(':').length > 2 ? bracketed(given) : given)
  if (parsed !== undefined) return parsed
  throw fail('usage', { problem: `"${text}" is no host name; --allowed-host takes name or name:port.` })
}

function bracketed(host: string): string {
  const plain = host.toLowerCase()
  return plain.includes(':') && !plain.startsWith('[') ? `[${plain}]` : plain
}

function parseAuthority(text: string | undefined): Authority | undefined {
  const [, name, port] = AUTHORITY.exec(text?.toLowerCase() ?? '') ?? []
  return name === undefined ? undefined : { name, port }
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name)
}

function count(rawHeaders: readonly string[], name: string): number {
  return valuesOf(rawHeaders, name).length
}
