/** A resolver in memory that does what a test tells it to, and only that; it speaks the protocol and writes the files that any resolver does. */
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ResultStatus } from '../../src/core/protocol/instance.ts'
import type { MemoryProcess } from './memory-machine.ts'

export class Puppet {
  /** What it was told of each answer and each message, however often. */
  readonly answers = new Map<string, unknown>()
  readonly messages = new Map<number, unknown>()
  /** What contradicts what it was told before. */
  readonly faults: string[] = []
  /** Each process of the instance's worker, the last one the present. */
  readonly #processes: MemoryProcess[] = []
  readonly #withheld: (() => void)[] = []
  #isHeld = false
  #ran = 0
  #id = ''

  readonly program = (me: MemoryProcess): void => {
    this.#processes.push(me)
    let rest = ''
    me.onInput((text) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() as string
      for (const line of lines) if (line !== '') this.#hear(me, JSON.parse(line))
    })
  }

  /** How many processes were started. */
  get starts(): number {
    return this.#processes.length
  }

  get isUp(): boolean {
    return this.#processes.at(-1)?.hasEnded === false
  }

  /** From now on it does not say that it is ready. */
  hold(): void {
    this.#isHeld = true
  }

  letReady(): void {
    this.#isHeld = false
    for (const reply of this.#withheld.splice(0)) reply()
  }

  emit(value: string): void {
    if (!this.isUp) return
    const data = { kind: 'other', value, metadata: null }
    const timestamp = new Date().toISOString()
    const event = { schema_version: 1, event_type: 'resolver:artifact', instance_id: this.#id, data, timestamp }
    appendFileSync(this.#path('events.jsonl'), `${JSON.stringify(event)}\n`)
    this.#ring('resolver.event', { offset: 0 })
  }

  ask(requests: readonly string[]): void {
    if (!this.isUp) return
    mkdirSync(this.#path('input-requests'), { recursive: true })
    for (const id of requests) {
      const required = { condition: { call: 'required', args: [{ path: '/x' }] }, message: 'Say something.' }
      const schema = { type: 'form', components: [{ type: 'text', id: 'x', checks: [required] }] }
      this.#write(`input-requests/${id}.json`, { id, prompt: `${id}?`, schema })
    }
    this.#ring('resolver.event', { offset: 0 })
  }

  /** Leaves a file for consumers, too, which its host looks through before it tells of the end. */
  finish(status: ResultStatus): void {
    if (!this.isUp) return
    mkdirSync(this.#path('data'), { recursive: true })
    writeFileSync(this.#path('data/out.txt'), 'x'.repeat(300_000))
    this.#write('status.json', { status, output: `it ${status}` })
    this.#ring('resolver.finished', { result: { status } })
  }

  crash(): void {
    this.#processes.at(-1)?.exit(1)
  }

  #hear(me: MemoryProcess, { id, method, params }: { id?: string; method: string; params: Told }): void {
    const reply = (result: unknown) => me.print(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
    switch (method) {
      case 'resolver.initialize':
        this.#id = params.config.instance_id
        if (this.#isHeld) this.#withheld.push(() => reply({ status: 'ready' }))
        else reply({ status: 'ready' })
        return
      case 'resolver.run':
        this.#ran = this.starts
        reply({ status: 'started' })
        return
      case 'resolver.inputResponse':
        this.#note(this.answers, params.request_id, params.payload)
        reply(null)
        return
      case 'resolver.message':
        if (this.#ran !== this.starts) this.faults.push(`message ${params.number} came before its run`)
        this.#note(this.messages, params.number, params.payload)
        reply(null)
        return
      case 'resolver.getMessageTypes':
        reply([{ name: 'note', label: 'Note', description: '', schema: { type: 'form', components: [] } }])
        return
      case 'resolver.shutdown':
        me.exit(0)
        return
      default:
        if (id !== undefined) reply(method === 'resolver.stop' ? { acknowledged: true } : null)
    }
  }

  #note<K>(told: Map<K, unknown>, key: K, payload: unknown): void {
    const before = told.get(key)
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(payload)) {
      this.faults.push(`${String(key)} was ${JSON.stringify(before)} and is ${JSON.stringify(payload)}`)
    }
    told.set(key, payload)
  }

  #ring(method: string, params: unknown): void {
    this.#processes.at(-1)?.print(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`)
  }

  #write(path: string, value: unknown): void {
    writeFileSync(this.#path(`${path}.tmp`), JSON.stringify(value))
    renameSync(this.#path(`${path}.tmp`), this.#path(path))
  }

  #path(name: string): string {
    return join(this.#processes.at(-1)?.environment['RESOLVE_DIR'] as string, name)
  }
}

interface Told {
  config: { instance_id: string }
  request_id: string
  number: number
  payload: unknown
}
