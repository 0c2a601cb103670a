/** A consumer of one instance over servers that die under it: follows, answers, sends messages, and writes down all it sent and got. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import type { InputRequest, InstanceRecord } from '../../src/core/protocol/instance.ts'
import type { Exchange } from './invariants-http.ts'
import type { StreamConnection } from './invariants-streams.ts'

export class LoopConsumer {
  readonly id: string
  readonly exchanges: Exchange[]
  readonly connections: StreamConnection[] = []
  readonly #url: () => string
  readonly #token: string
  readonly #closed = new AbortController()
  readonly #work: Promise<unknown>
  #isEnding = false
  #sent = 0

  private constructor(url: () => string, token: string, id: string, exchanges: Exchange[]) {
    this.id = id
    this.exchanges = exchanges
    this.#url = url
    this.#token = token
    this.#work = Promise.all([this.#follow(), this.#answerAll(), this.#sendAll()])
  }

  static async born(url: () => string, token: string, resolver: string): Promise<LoopConsumer> {
    const exchanges: Exchange[] = []
    const key = crypto.randomUUID()
    for (;;) {
      const born = await exchange(url(), token, {
        method: 'POST',
        path: '/api/instances',
        sent: { resolver, input: {} },
        key,
      })
      if (born === undefined) continue
      exchanges.push(born)
      if (born.status !== 202) throw new Error(`It was not created: ${JSON.stringify(born)}`)
      return new LoopConsumer(url, token, (born.body as InstanceRecord).instance_id, exchanges)
    }
  }

  /** From now on the resolver is told to end. */
  sayEnd(): void {
    this.#isEnding = true
  }

  /** Waits for the end of the stream a little, then leaves. */
  async close(): Promise<void> {
    await Promise.race([this.#work, sleep(10_000, undefined, { ref: false })])
    this.#closed.abort()
    await this.#work
  }

  /** What was acknowledged, and is not in what the resolver said it was told. */
  unheard({ answers, texts }: { answers: Record<string, string>; texts: Record<string, string> }): string[] {
    return this.exchanges.flatMap(({ method, path, sent, status, body }) => {
      if (method !== 'POST' || status >= 300) return []
      const rid = /\/input-requests\/(.*)$/.exec(path)?.[1]
      const { x } = sent as { x?: string }
      if (rid !== undefined)
        return answers[rid] === x ? [] : [`the answer to ${rid} is ${answers[rid]}, and ${x} was acknowledged`]
      if (!path.endsWith('/messages')) return []
      const { number } = body as { number: number }
      const { text } = (sent as { payload: { text: string } }).payload
      return texts[number] === text ? [] : [`message ${number} is ${texts[number]}, and ${text} was acknowledged`]
    })
  }

  async #follow(): Promise<void> {
    let after = 0
    while (!this.#closed.signal.aborted) {
      const frames: { id?: string | undefined; data: string }[] = []
      let isWhole = false
      const parser = createParser({ onEvent: ({ id, data }) => frames.push({ id, data }) })
      try {
        const headers = {
          authorization: `Bearer ${this.#token}`,
          ...(after === 0 ? {} : { 'last-event-id': String(after) }),
        }
        const response = await fetch(`${this.#url()}/api/instances/${this.id}/events`, {
          headers,
          signal: this.#closed.signal,
        })
        if (response.status === 200) {
          const decoder = new TextDecoder()
          for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
            parser.feed(decoder.decode(bytes, { stream: true }))
          }
          isWhole = true
        } else await response.text()
      } catch {
        // Cut: the next connection goes on.
      }
      if (frames.length > 0 || isWhole) this.connections.push({ after, frames, isWhole })
      after = Number(frames.findLast(({ id }) => id !== undefined)?.id ?? after)
      if (isWhole) return
      await pause(30, this.#closed.signal)
    }
  }

  async #answerAll(): Promise<void> {
    const own = `/api/instances/${this.id}`
    const keys = new Map<string, string>()
    while (!this.#closed.signal.aborted) {
      const asked = await this.#call({ method: 'GET', path: `${own}/input-requests?status=pending` })
      const open =
        asked?.status === 200
          ? ((asked.body as { requests?: InputRequest[] }).requests ?? (asked.body as InputRequest[]))
          : []
      for (const { id: rid } of open) {
        const key = keys.get(rid) ?? crypto.randomUUID()
        keys.set(rid, key)
        await this.#call({
          method: 'POST',
          path: `${own}/input-requests/${rid}`,
          sent: { x: `${rid} of ${this.id}` },
          key,
        })
      }
      if (await this.#isOver(own)) return
      await pause(150, this.#closed.signal)
    }
  }

  async #isOver(own: string): Promise<boolean> {
    const now = await this.#call({ method: 'GET', path: own })
    const { status } = (now?.body ?? {}) as Partial<InstanceRecord>
    return now?.status === 200 && ['completed', 'failed', 'cancelled'].includes(status ?? '')
  }

  /** One after the other, each under its key until it is answered; "end" last. */
  async #sendAll(): Promise<void> {
    let key = crypto.randomUUID() as string
    let text = ''
    for (let isSaid = false; !isSaid && !this.#closed.signal.aborted; ) {
      // What has a key keeps its words.
      if (text === '') {
        text = this.#isEnding ? 'end' : `note ${this.#sent + 1}`
        this.#sent += 1
      }
      const sent = { message_type: 'note', payload: { text } }
      const now = await this.#call({ method: 'POST', path: `/api/instances/${this.id}/messages`, sent, key })
      if (now !== undefined) {
        isSaid = text === 'end' && now.status === 202
        if (now.status < 500) {
          key = crypto.randomUUID()
          text = ''
        }
      }
      await pause(this.#isEnding ? 50 : 400, this.#closed.signal)
    }
  }

  async #call(request: Asked): Promise<Exchange | undefined> {
    const told = await exchange(this.#url(), this.#token, request)
    if (told !== undefined) this.exchanges.push(told)
    return told
  }
}

interface Asked {
  method: string
  path: string
  sent?: unknown
  key?: string
}

/** Undefined where the server died over it. */
async function exchange(url: string, token: string, { method, path, sent, key }: Asked): Promise<Exchange | undefined> {
  const from = Date.now()
  const headers = {
    authorization: `Bearer ${token}`,
    ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  }
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    })
    const text = await response.text()
    let body: unknown = text
    try {
      body = JSON.parse(text)
    } catch {
      // Nothing, or no JSON.
    }
    return {
      method,
      path,
      sent,
      ...(key === undefined ? {} : { key }),
      status: response.status,
      body,
      from,
      to: Date.now(),
    }
  } catch {
    await sleep(30)
    return undefined
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
