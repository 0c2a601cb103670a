/**
 * Sends one notice to one target: one POST, bounded in time and size, to an address that was checked. A redirect is not followed:
 * it could lead to an address that was not (threats B13).
 */
import { lookup as lookupHost } from 'node:dns'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { ResolveError, systemCode } from '../errors.ts'
import { NOTIFY_ANSWER_MAX_BYTES, NOTIFY_SEND_HARD_LIMIT_MS, NOTIFY_SEND_LIMIT_MS } from '../limits.ts'
import { isReceiverAddress } from '../primitives/network-addresses.ts'
import { within } from '../primitives/within.ts'
import type { Notice } from '../protocol/api/notify.ts'
import { showOnDesktop } from './desktop.ts'
import { bodyOf, signatureHeaders, slackBody, titleOf, webhookBody, webhookId } from './notices.ts'
import type { TargetEntry } from './target-file.ts'
import { type Destination, destinationOf } from './targets.ts'

/**
 * Undefined where the target took it, else why not: a reason that names neither the path of the address nor the content. It always ends:
 * a try that ended in no way that is known here would stop its target for good.
 */
export async function sendNotice(home: string, target: TargetEntry, notice: Notice): Promise<string | undefined> {
  const tried = trySend(home, target, notice).then((error) => ({ error }))
  const ended = await within(NOTIFY_SEND_HARD_LIMIT_MS, tried)
  return ended === undefined ? TOO_LATE : ended.error
}

async function trySend(home: string, target: TargetEntry, notice: Notice): Promise<string | undefined> {
  try {
    const destination = destinationOf(home, target)
    if (destination === undefined) return await showOnDesktop(titleOf(notice), bodyOf(notice))
    const { headers, body } = messageFor(target, destination, notice)
    return await post(new URL(destination.url), headers, body)
  } catch (error) {
    if (error instanceof ResolveError) return error.message.replace(/\.$/, '')
    return `it can't be sent (${systemCode(error) ?? 'unknown'})`
  }
}

function messageFor({ id, kind, link }: TargetEntry, { key }: Destination, notice: Notice) {
  if (kind === 'slack') return { headers: {}, body: slackBody(notice, link) }
  const body = webhookBody(notice, link)
  const seconds = Math.floor(Date.now() / 1_000)
  return { headers: signatureHeaders(webhookId(notice, id), seconds, body, key), body }
}

function post(url: URL, headers: Record<string, string>, body: string): Promise<string | undefined> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (/^[\d.]+$|:/.test(host) && !isReceiverAddress(host)) return Promise.resolve(REFUSED)
  const bytes = Buffer.from(body)
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const call = send(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': bytes.length,
      'user-agent': 'resolve',
      ...headers,
    },
    agent: false,
    lookup: checkedLookup,
  })
  // It covers the body of the answer too: a receiver that never ends it would hold the connection, and with it the process.
  const limit = setTimeout(() => {
    resolve(TOO_LATE)
    call.destroy()
  }, NOTIFY_SEND_LIMIT_MS)
  call.on('close', () => {
    clearTimeout(limit)
    // Whatever ended it before said so; this is for a connection that ended without an error and without an answer.
    resolve('it closed the connection without an answer')
  })
  // A request to change the protocol has neither a response nor an error, and the connection stays open.
  call.on('upgrade', ({ statusCode = 0 }, socket) => {
    resolve(`it answered ${statusCode}`)
    socket.destroy()
  })
  call.on('error', (error) =>
    resolve(systemCode(error) === CLOSED ? REFUSED : `it can't be reached (${systemCode(error) ?? 'unknown'})`),
  )
  call.on('response', (response) => {
    const { statusCode = 0 } = response
    const outcome = statusCode >= 200 && statusCode < 300 ? undefined : `it answered ${statusCode}`
    let size = 0
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > NOTIFY_ANSWER_MAX_BYTES) call.destroy()
    })
    response.on('error', () => {})
    // The status counts; the body is read to its end, or to its limit, and ignored.
    resolve(outcome)
    response.on('close', () => call.destroy())
  })
  call.end(bytes)
  return promise
}

const TOO_LATE = `it did not answer within ${NOTIFY_SEND_LIMIT_MS / 1_000} s`
const REFUSED = 'its address is link-local or reserved'
const CLOSED = 'ERR_RESOLVE_ADDRESS'

/** The connection goes to the very address that was checked: a name cannot change its address in between. */
const checkedLookup: LookupFunction = (hostname, options, done) => {
  lookupHost(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, '', 4)
    const [refused] = addresses.filter(({ address }) => !isReceiverAddress(address))
    const [first] = addresses
    if (refused !== undefined || first === undefined)
      return done(Object.assign(new Error(REFUSED), { code: CLOSED }), '', 4)
    if (options.all === true) return done(null, addresses)
    return done(null, first.address, first.family)
  })
}
