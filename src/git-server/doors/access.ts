/** Who may come in: a request that carries the token of the instance. Only the token's SHA-256 lies in the server's directory. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../../core/primitives/is-object.ts'

export type Access = (headers: IncomingHttpHeaders) => boolean

/** Reads `tokens.json`: `{"sha256": ["…"]}`. Where it is missing or malformed, no token opens the server. */
export function accessFrom(path: string): Access {
  const digests = readDigests(path)
  return ({ authorization }) => tokensIn(authorization).some((token) => isKnown(token, digests))
}

/** As clients send it: `token T`, `Bearer T`, and Basic with the token as password or, with an empty password, as user. Pure. */
export function tokensIn(authorization: string | undefined): string[] {
  const [, scheme = '', value = ''] = /^(\w+) +(\S+) *$/.exec(authorization ?? '') ?? []
  if (/^(?:token|bearer)$/i.test(scheme)) return [value]
  if (!/^basic$/i.test(scheme)) return []
  const plain = Buffer.from(value, 'base64').toString('utf8')
  const at = plain.indexOf(':')
  if (at === -1) return []
  const [user, password] = [plain.slice(0, at), plain.slice(at + 1)]
  return [password === '' || password === 'x-oauth-basic' ? user : password]
}

function isKnown(token: string, digests: readonly Buffer[]): boolean {
  const digest = createHash('sha256').update(token).digest()
  return token !== '' && digests.some((known) => timingSafeEqual(known, digest))
}

function readDigests(path: string): Buffer[] {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    const list = isObject(value) && Array.isArray(value['sha256']) ? value['sha256'] : []
    return list.flatMap((one) => (/^[0-9a-f]{64}$/.test(String(one)) ? [Buffer.from(String(one), 'hex')] : []))
  } catch {
    return []
  }
}
