/** The targets of notifications of a home: `resolve notify` and the HTTP API change them; {@link file://./sender.ts} sends to them. */
import { randomBytes } from 'node:crypto'
import { fail, type ResolveError } from '../errors.ts'
import { inHome } from '../files/home-errors.ts'
import { withLock } from '../files/lock.ts'
import { NOTIFY_TARGETS_MAX } from '../limits.ts'
import { nearestDetail } from '../primitives/nearest.ts'
import { isReceiverAddress } from '../primitives/network-addresses.ts'
import { NOTIFY_EVENTS, NOTIFY_NAME_PATTERN, type NotifyRequest } from '../protocol/api/notify.ts'
import { open, seal } from '../secrets/seal.ts'
import { hasDesktop } from './desktop.ts'
import { readTargetFile, type TargetEntry, targetsPath, writeTargetFile } from './target-file.ts'

/** What a target is sent to: its whole address and its signing key. */
export interface Destination {
  url: string
  /** The key of the signature; empty for slack. */
  key: Buffer
}

/** Durable when it returns. Throws `usage`, `notify_exists`, `notify_broken`, `secret_key_unusable`, `home_unusable`, `disk_full`. */
export async function addTarget(home: string, request: NotifyRequest): Promise<TargetEntry> {
  const { name, kind, resolver = null, link = null } = request
  if (!new RegExp(NOTIFY_NAME_PATTERN).test(name))
    throw usage(`"${name.slice(0, 80)}" can't name a target: use letters, digits, ".", "_" and "-".`)
  if (kind === 'desktop' && !hasDesktop())
    throw usage('This machine has no desktop notifications: notify-send or osascript is missing.')
  const url = kind === 'desktop' ? undefined : checkedUrl(request.url, 'The address of the target')
  const page = link === null ? null : checkedUrl(link, 'The address of the page').href.replace(/\/$/, '')
  const secret = kind === 'webhook' ? checkedSecret(request.secret) : ''
  const id = randomBytes(4).toString('hex')
  const entry: TargetEntry = {
    ...{ id, name, kind, resolver, link: page },
    sealed: url === undefined ? null : seal(home, placeOf(id), JSON.stringify({ url: url.href, secret })),
    address: url === undefined ? null : url.origin,
    events: [...new Set(request.events ?? NOTIFY_EVENTS)],
    created_at: new Date().toISOString(),
  }
  return await changed(home, (targets) => {
    if (targets.some((one) => one.name === name)) throw fail('notify_exists', { name })
    if (targets.length >= NOTIFY_TARGETS_MAX) throw usage(`A home has at most ${NOTIFY_TARGETS_MAX} targets.`)
    return { targets: [...targets, entry], result: entry }
  })
}

/** Throws `notify_unknown`, and as {@link addTarget}. */
export async function removeTarget(home: string, name: string): Promise<TargetEntry> {
  return await changed(home, (targets) => {
    const found = targets.find((one) => one.name === name)
    if (found === undefined) throw unknownTarget(String(name).slice(0, 80), targets)
    return { targets: targets.filter((one) => one !== found), result: found }
  })
}

/** Throws `notify_unknown`, `notify_broken`. */
export function findTarget(home: string, name: string): TargetEntry {
  const targets = readTargetFile(home)
  const found = targets.find((one) => one.name === name)
  if (found === undefined) throw unknownTarget(String(name).slice(0, 80), targets)
  return found
}

function unknownTarget(name: string, targets: readonly { name: string }[]): ResolveError {
  const names = targets.map((one) => one.name)
  return fail('notify_unknown', { name, ...nearestDetail(name, names) })
}

/** Undefined for the desktop. Throws `secret_unreadable`, `secret_key_unusable`. */
export function destinationOf(home: string, { id, sealed }: TargetEntry): Destination | undefined {
  if (sealed === null) return undefined
  const { url, secret } = JSON.parse(open(home, placeOf(id), sealed)) as { url: string; secret: string }
  return { url, key: Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64') }
}

/** A signing key as Standard Webhooks writes it. */
export const SECRET_PREFIX = 'whsec_'

async function changed<T>(
  home: string,
  change: (targets: TargetEntry[]) => { targets: TargetEntry[]; result: T },
): Promise<T> {
  return await inHome(home, () =>
    withLock(`${targetsPath(home)}.lock`, async () => {
      const { targets, result } = change(readTargetFile(home))
      await writeTargetFile(home, targets)
      return result
    }),
  )
}

/** The messages never quote the address: its path is often a secret. */
function checkedUrl(text: string | undefined, what: string): URL {
  if (text === undefined || text === '') throw usage(`${what} is missing.`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usage(`${what} must begin with https:// or http://.`)
  }
  if (url.username !== '' || url.password !== '') throw usage(`${what} must not have a user or a password.`)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (/^[\d.]+$|:/.test(host) && !isReceiverAddress(host))
    throw usage(`${what} is link-local or reserved: nothing is sent there.`)
  url.hash = ''
  return url
}

function checkedSecret(secret: string | undefined): string {
  const bytes = Buffer.from((secret ?? '').slice(SECRET_PREFIX.length), 'base64').length
  if (secret?.startsWith(SECRET_PREFIX) && bytes >= 24 && bytes <= 64) return secret
  throw usage('The signing secret of a webhook is "whsec_" and 24 to 64 bytes in base64.')
}

function placeOf(id: string): string {
  return `notification target ${id}`
}

function usage(problem: string) {
  return fail('usage', { problem })
}
