/**
 * What a session helper does for its host. The sessions are those of the SDK; each has its name and number, and each prompt its number, so that
 * a request that another host or helper has seen before is the same request.
 */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, ResolveError } from '../../core/errors.ts'
import { COORDINATION_FILE_MAX_BYTES, SESSION_ANSWER_MAX_BYTES, SESSION_HELPER_END_MS } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { CONFIG_FILE } from '../../core/protocol/coordination.ts'
import type { InstanceConfig } from '../../core/protocol/instance.ts'
import type { Peer } from '../../core/rpc/peer.ts'
import type { PromptImage, SessionAnswer } from '../../sessions/contract/contract.ts'
import type { OpenSession } from '../../sessions/session.ts'
import { InstanceContext } from '../instance/instance-context.ts'
import { LazySessions } from '../instance/sessions.ts'
import { endHelper, takeOver } from './marked-processes.ts'
import { toSessionOptions } from './options.ts'

const CREATE = 'platform.session.create'
const RUN = 'platform.session.run'

type Params = Record<string, unknown>

export interface HelperParts {
  /** The path of `.resolve`. */
  dir: string
  /** The value of RESOLVE_HELPER. */
  mark: string
  peer: Peer
}

/** An answer to a prompt that was given, or will be. */
interface Asked {
  digest: string
  answer: Promise<SessionAnswer>
  isOver: boolean
}

interface Known {
  session: Promise<OpenSession>
  /** By their numbers. */
  asked: Map<number, Asked>
  last: number
}

export class HelperService {
  readonly #parts: HelperParts
  readonly #known = new Map<string, Known>()
  readonly #underWay = new Set<Promise<unknown>>()
  #instance: InstanceContext | undefined
  #sessions: LazySessions | undefined

  constructor(parts: HelperParts) {
    this.#parts = parts
  }

  calls(): Record<string, (params: unknown) => unknown> {
    return {
      'session.open': () => this.#open(),
      'session.create': (params) => this.#answer(() => this.#create(toParams(params))),
      'session.run': (params) => this.#answer(() => this.#run(toParams(params))),
      'session.steer': (params) => this.#answer(() => this.#steer(toParams(params))),
      'session.stop': (params) => this.#instance?.stop(String(toParams(params)['reason'])),
      'session.end': (params) => this.#end(toParams(params)['is_over'] === true),
    }
  }

  /** The host has gone, or ended this helper: what runs is ended, turns that are under way stay open. */
  async leave(): Promise<void> {
    await this.#abort('the host of the sessions has gone')
    endHelper(this.#parts.dir, this.#parts.mark)
  }

  /** Two helpers must not write one transcript: one that an earlier host left is ended first. */
  async #open(): Promise<{ ready: true }> {
    const { dir, mark, peer } = this.#parts
    await takeOver(dir, mark)
    const config = readConfig(dir)
    const name = config.resolver_name
    this.#instance ??= new InstanceContext({ config, dir, name, peer, epoch: 0, onAnswer: () => {} })
    this.#sessions ??= new LazySessions(this.#instance)
    return { ready: true }
  }

  async #create({ session_id: id, name, number, options }: Params): Promise<null> {
    const known = this.#known.get(String(id)) ?? {
      session: this.#make(String(name), Number(number), toParams(options)),
      asked: new Map(),
      last: 0,
    }
    this.#known.set(String(id), known)
    try {
      await known.session
      return null
    } catch (error) {
      this.#known.delete(String(id))
      throw error
    }
  }

  async #make(name: string, number: number, options: Params): Promise<OpenSession> {
    if (this.#sessions === undefined) throw fail('session_not_open', { session: name })
    return await this.#sessions.create(name, toSessionOptions(CREATE, options), number)
  }

  async #run({ session_id: id, number, prompt, schema, images }: Params): Promise<SessionAnswer> {
    const known = this.#knownAs(id)
    const session = await known.session
    const [place, text] = [Number(number), String(prompt)]
    const digest = createHash('sha256')
      .update(JSON.stringify([text, schema, images]))
      .digest('hex')
    const before = known.asked.get(place)
    if (before !== undefined) {
      if (before.digest !== digest) throw refuse(RUN, `prompt ${place} of "${id}" was another one`)
      return await before.answer
    }
    const last = known.asked.get(known.last)
    if (last !== undefined && (place !== known.last + 1 || !last.isOver))
      throw refuse(RUN, `after prompt ${known.last} of "${id}" comes ${known.last + 1}, once it is answered`)
    // The first one that this process is asked: those before it were answered by another.
    if (last === undefined && !session.goTo(place))
      throw refuse(RUN, `prompt ${place} of "${id}" comes after one that was not answered`)
    const asked: Asked = {
      digest,
      answer: session.run(text, {
        images: toImages(images),
        ...(schema === undefined ? {} : { schema: toParams(schema) }),
      }),
      isOver: false,
    }
    const lastBefore = known.last
    known.asked.set(place, asked)
    known.last = place
    try {
      return fitting(await asked.answer)
    } catch (error) {
      // The session has not seen the prompt: its number is free.
      if (error instanceof ResolveError && error.code === 'session_image_refused') {
        known.asked.delete(place)
        known.last = lastBefore
      }
      throw error
    } finally {
      asked.isOver = true
    }
  }

  async #steer({ session_id: id, text, key }: Params): Promise<null> {
    const session = await this.#knownAs(id).session
    session.steer(String(text), typeof key === 'string' ? key : undefined)
    return null
  }

  #knownAs(id: unknown): Known {
    const known = this.#known.get(String(id))
    if (known === undefined) throw fail('session_not_open', { session: String(id) })
    return known
  }

  async #end(isOver: boolean): Promise<{ ended: true }> {
    await this.#abort('the run is over')
    if (isOver) this.#sessions?.endOpen({ code: 'instance_stopped', detail: 'the run ended before it' })
    this.#instance?.close()
    return { ended: true }
  }

  async #abort(reason: string): Promise<void> {
    this.#instance?.stop(reason)
    const late = new AbortController()
    const limit = sleep(SESSION_HELPER_END_MS, undefined, { signal: late.signal }).catch(() => undefined)
    await Promise.race([Promise.allSettled([...this.#underWay]), limit])
    late.abort()
  }

  /** Errors of the catalogue are answers: they go on to the resolver with their code. */
  async #answer(work: () => Promise<unknown>): Promise<unknown> {
    const working = work()
    this.#underWay.add(working)
    try {
      return { value: await working }
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      const { code, message: detail, hint } = error
      return { error: { code, detail, hint } }
    } finally {
      this.#underWay.delete(working)
    }
  }
}

/** What the worker got, with the key. */
function readConfig(dir: string): InstanceConfig {
  const path = join(dir, CONFIG_FILE)
  const stat = statSync(path)
  const config: unknown =
    stat.isFile() && stat.size <= COORDINATION_FILE_MAX_BYTES ? JSON.parse(readFileSync(path, 'utf8')) : null
  if (isObject(config)) return config as unknown as InstanceConfig
  throw fail('session_helper_failed', { reason: `${path} cannot be read` })
}

/** A frame has a limit. The whole answer is in the transcript. */
function fitting(answer: SessionAnswer): SessionAnswer {
  const bytes = Buffer.byteLength(JSON.stringify(answer))
  if (bytes <= SESSION_ANSWER_MAX_BYTES) return answer
  throw refuse(RUN, `its answer has ${bytes} bytes: it is in the transcript`)
}

function refuse(method: string, problem: string): ResolveError {
  return fail('session_call_refused', { method, problem })
}

function toImages(images: unknown): PromptImage[] {
  if (!Array.isArray(images)) return []
  return images.map((one: unknown) => {
    if (typeof one === 'string') return one
    const { data, media_type: mediaType } = toParams(one)
    return { data: Buffer.from(String(data), 'base64'), mediaType: String(mediaType) }
  })
}

function toParams(value: unknown): Params {
  return isObject(value) ? value : {}
}
