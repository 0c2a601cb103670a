/** The validator of a room as the host talks to it: a program in a container of its own, by JSON-RPC on its stdio. What it answers is parsed here. */
import { fail, ResolveError } from '../../errors.ts'
import { CHECK_BODY_MAX_BYTES, GIB } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { BrowserStep, HttpStep, Observation } from '../../protocol/check/reality-check.ts'
import { Peer } from '../../rpc/peer.ts'
import { startContainerHelper } from '../../worker/docker/container-helper.ts'
import type { Engine } from '../../worker/engine/engine.ts'

const PROGRAM = 'validator/main.js'
/** What it may take longer than the step that it carries out. */
const MARGIN_MS = 5_000
const TRACE_PIECE_BYTES = 256 * 1024
const TRACE_MAX_BYTES = GIB / 16
const PICTURE_MAX_CHARS = 8 * 1024 * 1024

export interface Listener {
  port: number
  address: string
}

export interface ClosedPage {
  screenshot: Buffer | null
  trace: Buffer | null
}

export class ValidatorLink {
  readonly #peer: Peer
  readonly #close: () => void

  /** Throws `container_refused`, `docker_unreachable`, `launch_failed`. */
  static async open(engine: Engine, container: string, mark: string): Promise<ValidatorLink> {
    const plan = { program: PROGRAM, mark, directory: '/', environment: {}, onStderr: () => {} }
    const { channel } = await startContainerHelper(engine, container, plan, '/')
    return new ValidatorLink(new Peer(channel), () => channel.close())
  }

  private constructor(peer: Peer, close: () => void) {
    this.#peer = peer
    this.#close = close
  }

  close(): void {
    this.#close()
  }

  async listening(): Promise<Listener[]> {
    const { ports } = await this.#call('listening', {}, MARGIN_MS)
    const list: unknown[] = Array.isArray(ports) ? ports : []
    return list.flatMap((entry) => {
      const { port, address } = isObject(entry) ? entry : {}
      return typeof port === 'number' && typeof address === 'string' ? [{ port, address }] : []
    })
  }

  /** The status of an answer; null for none. */
  async probe(port: number, path: string): Promise<number | null> {
    const { status } = await this.#call('probe', { port, path }, 2 * MARGIN_MS)
    return typeof status === 'number' ? status : null
  }

  async http(step: HttpStep, port: number): Promise<Extract<Observation, { kind: 'http' }>> {
    const timeoutMs = step.timeout_seconds * 1_000
    const { headers, body } = encoded(step)
    const { method, path, query } = step
    const answer = await this.#call(
      'http',
      {
        request: { method, path, query, headers, body },
        port,
        addresses: ['127.0.0.1', '::1'],
        timeout_ms: timeoutMs,
        max_bytes: CHECK_BODY_MAX_BYTES,
        follow_redirects: step.follow_redirects,
      },
      timeoutMs,
    )
    const list: unknown[] = Array.isArray(answer['headers']) ? answer['headers'] : []
    return {
      kind: 'http',
      method,
      path,
      request_body: body,
      status: typeof answer['status'] === 'number' ? answer['status'] : null,
      headers: list.flatMap((pair) =>
        Array.isArray(pair) ? [[String(pair[0]), String(pair[1])] as [string, string]] : [],
      ),
      body: textOf(answer['body']),
      truncated: answer['truncated'] === true,
      duration_ms: numberOf(answer['duration_ms']),
      error: typeof answer['error'] === 'string' ? answer['error'] : null,
    }
  }

  /** Throws `browser_unavailable` where there is no browser. */
  async openPage(test: string, port: number, address: string): Promise<void> {
    await this.#call('browser.open', { test, port, address }, 60_000)
  }

  async step(step: BrowserStep, timeoutMs: number): Promise<Extract<Observation, { kind: 'browser' }>> {
    const answer = await this.#call('browser.step', { step, timeout_ms: timeoutMs }, timeoutMs)
    const lines: unknown[] = Array.isArray(answer['console']) ? answer['console'] : []
    return {
      kind: 'browser',
      step: textOf(answer['step']),
      error: typeof answer['error'] === 'string' ? answer['error'] : null,
      url: textOf(answer['url']),
      title: textOf(answer['title']),
      snapshot: textOf(answer['snapshot']),
      console: lines.map(textOf),
      duration_ms: numberOf(answer['duration_ms']),
    }
  }

  async closePage(): Promise<ClosedPage> {
    const { screenshot, trace_bytes: bytes } = await this.#call('browser.close', {}, 30_000)
    const isPicture = typeof screenshot === 'string' && screenshot.length <= PICTURE_MAX_CHARS
    return {
      screenshot: isPicture ? Buffer.from(screenshot, 'base64') : null,
      trace: typeof bytes === 'number' && bytes > 0 && bytes <= TRACE_MAX_BYTES ? await this.#trace(bytes) : null,
    }
  }

  async #trace(bytes: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for (let offset = 0; offset < bytes; ) {
      const { base64 } = await this.#call('browser.trace', { offset, length: TRACE_PIECE_BYTES }, MARGIN_MS)
      const piece = Buffer.from(textOf(base64), 'base64')
      if (piece.length === 0) break
      pieces.push(piece)
      offset += piece.length
    }
    return Buffer.concat(pieces)
  }

  async #call(method: string, params: Record<string, unknown>, limitMs: number): Promise<Record<string, unknown>> {
    try {
      const answer = await this.#peer.call(method, params, limitMs + MARGIN_MS)
      return isObject(answer) ? answer : {}
    } catch (error) {
      const reason = error instanceof ResolveError ? error.message : String(error)
      throw fail(
        'check_unavailable',
        { reason: `the validator failed: ${reason.replace(/\.$/, '')}` },
        { cause: error },
      )
    }
  }
}

function encoded({ headers, body, form }: HttpStep): { headers: Record<string, string>; body: string | null } {
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const typed = (type: string) => (isTyped ? headers : { ...headers, 'content-type': type })
  if (form !== null)
    return { headers: typed('application/x-www-form-urlencoded'), body: new URLSearchParams(form).toString() }
  if (body === null) return { headers, body: null }
  if (typeof body === 'string') return { headers, body }
  return { headers: typed('application/json'), body: JSON.stringify(body) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
