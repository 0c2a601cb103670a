/**
 * Carries out what a consumer does to an instance: answer, message, pause, resume, stop, cancel. It finds the instance's
 * host, in this process or another, and replaces a dead one first. The host decides, one action at a time.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { SealedPayloads } from '../../host/launch/sealed-payloads.ts'
import type { InstanceHost } from '../../host/lifecycle/instance-host.ts'
import type { HostProcess } from '../../host/process/host-process.ts'
import { endOwner } from '../../host/process/reach.ts'
import { answerLost } from '../../host/requests/answer-lost.ts'
import { HOST_ADOPT_LIMIT_MS, HOST_RETRY_MAX_MS, HOST_RETRY_MIN_MS, HOST_TRIES } from '../../limits.ts'
import { backoffMs } from '../../primitives/backoff.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Actor, InstanceRecord, MessageType } from '../../protocol/instance.ts'
import type { KeptStop } from '../../protocol/journal.ts'
import { RESUMED_LOST } from '../../protocol/methods.ts'
import { isTerminal } from '../../protocol/status.ts'
import { requireSecrets } from '../../secrets/secret-store.ts'
import type { InstancePaths } from '../../store/home.ts'
import { readCreationRecord } from '../../store/journal-reader.ts'
import { dropKeptStop, keepStop, readKeptStop } from '../../store/owners.ts'
import { readRecordInTurns } from '../../store/record.ts'
import { isLost, lostWorker } from '../../view/lost-worker.ts'
import type { Story } from '../../view/story.ts'
import type { JournalCache } from '../journal/journal-cache.ts'
import type { Naming, Platform } from '../platform.ts'
import { refuseTooLarge } from './local-checks.ts'
import { callOwner } from './reach-host.ts'
import { type Act, refusal, wasAccepted } from './refusal.ts'

/** An action, and how to do it: on a host of this process, or at the host of another process. */
interface HostCall<T> extends Act {
  here: (host: InstanceHost) => T | Promise<T>
  there: (owner: Platform) => Promise<T>
}

export interface ActsParts {
  home: string
  hosts: HostProcess
  journals: JournalCache
  /** Throws `instance_unknown`. */
  paths: (id: string) => InstancePaths
  ensureHost: (id: string) => Promise<void>
  record: (id: string) => Promise<InstanceRecord>
  leave: (id: string) => Promise<void>
}

export class Acts {
  readonly #parts: ActsParts

  constructor(parts: ActsParts) {
    this.#parts = parts
  }

  async answer(id: string, requestId: string, payload: Payload, actor: Actor): Promise<void> {
    refuseTooLarge(payload)
    const keyed = { key: randomUUID(), ...actor }
    if (await this.#answerLost(id, requestId, payload, keyed)) return
    await this.#ask(id, {
      action: 'answer',
      request: requestId,
      key: keyed.key,
      here: (host) => host.answer(requestId, payload, keyed),
      there: (owner) => owner.answer(id, requestId, payload, keyed),
    })
  }

  /** A question of a lost worker stays open: this process owns the instance while it accepts the answer (R58). */
  async #answerLost(id: string, requestId: string, payload: Payload, actor: Actor): Promise<boolean> {
    const { home, hosts, paths } = this.#parts
    if (hosts.get(id) !== undefined || !isLost(await readRecordInTurns(paths(id)))) return false
    let isAccepted = false
    await hosts.write(id, (ledger) => {
      isAccepted = answerLost({ home, ledger }, requestId, payload, actor)
    })
    return isAccepted
  }

  async messageTypes(id: string): Promise<MessageType[]> {
    return await this.#ask(id, {
      action: 'send a message to',
      here: (host) => host.messageTypes(),
      there: (owner) => owner.messageTypes(id),
    })
  }

  async message(id: string, type: string, payload: Payload, actor: Actor): Promise<{ number: number }> {
    refuseTooLarge(payload)
    const keyed = { key: randomUUID(), ...actor }
    return await this.#ask(id, {
      action: 'send a message to',
      key: keyed.key,
      here: async (host) => ({ number: await host.message(type, payload, keyed) }),
      there: (owner) => owner.message(id, type, payload, keyed),
    })
  }

  /**
   * Gives the instance another name or other labels. Where no host owns it, this process owns it for the duration of the append: an instance that has
   * ended has no host, and only an owner may write to a journal.
   */
  async rename(id: string, naming: Naming): Promise<InstanceRecord> {
    const { home, hosts, paths, record } = this.#parts
    paths(id)
    for (let tries = 1; ; tries += 1) {
      const own = hosts.get(id)
      if (own !== undefined) own.rename(naming)
      else if (!(await hosts.write(id, (ledger) => ledger.rename(naming)))) {
        try {
          return await callOwner(home, id, hosts.socketPath, (owner) => owner.edit(id, naming))
        } catch (error) {
          // The host released the instance between the check and the call.
          if (tries === HOST_TRIES || !isElsewhere(error)) throw error
          await pauseAfter(tries)
          continue
        }
      }
      return await record(id)
    }
  }

  async pause(id: string): Promise<void> {
    await this.#ask(id, {
      action: 'pause',
      here: (host) => host.pause(),
      there: async (owner) => void (await owner.pause(id)),
    })
  }

  /** Of several concurrent calls one resumes it; the others get `invalid_state`. */
  async resume(id: string, how: { host?: 'here' | 'background'; lost?: boolean }): Promise<InstanceRecord> {
    const { home, hosts, paths, record, leave } = this.#parts
    paths(id)
    const { supports_resume, resolver } = await record(id)
    if (!supports_resume) throw fail('resume_unsupported', { resolver })
    requireSecrets(home, resolver, readCreationRecord(paths(id).journal).resolver.manifest.secrets)
    const host = await hosts.own(id, (ledger) => {
      if (ledger.status !== 'paused') throw fail('invalid_state', { action: 'resume', status: ledger.status })
      if (how.lost === true) requireLost(ledger.story)
      const { problem } = new SealedPayloads(home, ledger)
      // A run that cannot get its values back would fail, and its checkpoint would be lost.
      if (problem !== undefined) throw problem
      failpoint('resume.moving')
      ledger.move('running', { reason: how.lost === true ? RESUMED_LOST : 'resumed' })
    })
    const now = await record(id)
    if (host === undefined) throw fail('invalid_state', { action: 'resume', status: now.status })
    if (how.host === 'background') await leave(id)
    return now
  }

  async stop(id: string, how: 'stop' | 'cancel', reason: string, force: boolean): Promise<InstanceRecord> {
    const { status } = await this.#parts.record(id)
    if (isTerminal(status)) throw fail('invalid_state', { action: how, status })
    if (status === 'paused') await this.#stopPaused(id, how, reason, force)
    else await this.#stopLive(id, how, reason, force)
    return await this.#parts.record(id)
  }

  /**
   * If a pause comes first, the paused instance is stopped without a worker (R20). The stop is on disk before another process is asked:
   * where that one does not answer, the next host carries it out.
   */
  async #stopLive(id: string, how: 'stop' | 'cancel', reason: string, force: boolean): Promise<void> {
    const { hosts, paths } = this.#parts
    const at = paths(id)
    const isKept = hosts.get(id) === undefined && (await this.#keep(at, { how, reason, force }))
    try {
      await this.#ask(id, {
        action: 'stop',
        here: (host) => host.stop(how, reason, force),
        there: async (owner) =>
          void (how === 'cancel' && !force ? await owner.cancel(id) : await owner.stop(id, { reason, force })),
      })
    } catch (error) {
      if (isSilent(error)) {
        await this.#stopSilent(id, force, error)
        return
      }
      const { status } = await this.#parts.record(id)
      // The next host found it on disk, and has carried it out already.
      if (isKept && status === 'cancelled' && readKeptStop(at) === undefined) return
      const isPaused = status === 'paused'
      // Where no host could be reached, the next one carries it out.
      if (!isPaused && !isElsewhere(error)) dropKeptStop(at)
      if (!isPaused) throw error
      await this.#stopPaused(id, how, reason, force)
    }
    dropKeptStop(at)
  }

  /** False on a full disk, or beside a damaged journal: the host is asked all the same. */
  async #keep(paths: InstancePaths, stop: Omit<KeptStop, 'incarnation'>): Promise<boolean> {
    try {
      const { story } = await this.#parts.journals.read(paths.journal)
      keepStop(paths, { ...stop, incarnation: story.wantedIncarnation })
      return true
    } catch {
      return false
    }
  }

  /** The stop is kept. With `force` its silent host is ended, and the next one carries it out at once. */
  async #stopSilent(id: string, force: boolean, error: ResolveError): Promise<void> {
    const { home, paths, ensureHost } = this.#parts
    const isEnded = force && (await endOwner(home, id))
    const kept = readKeptStop(paths(id)) !== undefined
    if (!isEnded) throw fail('host_silent', { instance: id, pid: Number(error.details['pid']), kept })
    await ensureHost(id)
  }

  /** A paused instance has no worker and no host: this process owns it for a moment. */
  async #stopPaused(id: string, how: 'stop' | 'cancel', reason: string, force: boolean): Promise<void> {
    const { hosts, record } = this.#parts
    const host = await hosts.own(id, (ledger) => {
      if (ledger.status !== 'paused') throw fail('invalid_state', { action: how, status: ledger.status })
      ledger.move('cancelled', { reason, output: ledger.story.output, error: null })
    })
    if (host !== undefined) return await hosts.over(id)
    // Another command was faster: it ended or resumed the instance.
    const { status } = await record(id)
    if (isTerminal(status)) throw fail('invalid_state', { action: how, status })
    if (status === 'paused') throw fail('host_unreachable', { instance: id, reason: 'another command is changing it' })
    await this.#stopLive(id, how, reason, force)
  }

  /** While the instance changes its host, it is tried again for about a second. */
  async #ask<T>(id: string, call: HostCall<T>): Promise<T> {
    const { home, hosts, journals, ensureHost } = this.#parts
    const paths = this.#parts.paths(id)
    const began = performance.now()
    for (let tries = 1; ; tries += 1) {
      try {
        const own = hosts.get(id)
        if (own !== undefined) return await call.here(own)
        const before = await this.#answerWithoutWorker(paths, call)
        if (before !== undefined) return before as T
        await ensureHost(id)
        // This process may have taken it meanwhile.
        const taken = hosts.get(id)
        if (taken !== undefined) return await call.here(taken)
        return await callOwner(home, id, hosts.socketPath, call.there)
      } catch (error) {
        if (!isElsewhere(error)) throw error
        // The instance ended, or changed its host, between the check and the call. An earlier acceptance of this call stands.
        const accepted = wasAccepted(await journals.read(paths.journal), call)
        if (accepted !== undefined) return accepted as T
        if (tries === HOST_TRIES || performance.now() - began > HOST_ADOPT_LIMIT_MS) throw error
        await pauseAfter(tries)
      }
    }
  }

  /**
   * For an instance that has ended or is paused: what this same call was accepted with before, else its refusal. Undefined
   * for others.
   */
  async #answerWithoutWorker(paths: InstancePaths, act: Act): Promise<unknown> {
    const { status } = await readRecordInTurns(paths)
    if (!isTerminal(status) && status !== 'paused') return undefined
    const projection = await this.#parts.journals.read(paths.journal)
    const accepted = wasAccepted(projection, act)
    if (accepted === undefined) throw refusal(projection.story, act)
    return accepted
  }
}

/** Whether the called host is gone, or another host owns the instance. */
function isElsewhere(error: unknown): boolean {
  return error instanceof ResolveError && (error.code === 'host_unreachable' || error.code === 'ownership_lost')
}

function isSilent(error: unknown): error is ResolveError {
  return error instanceof ResolveError && error.code === 'host_silent'
}

async function pauseAfter(tries: number): Promise<void> {
  await sleep(backoffMs(tries - 1, HOST_RETRY_MIN_MS, HOST_RETRY_MAX_MS))
}

/** Throws `invalid_state` where no worker was lost, `resume_exhausted` after the third resume without a person. */
function requireLost(story: Story): void {
  const { instance_id: instance } = story.creation
  const lost = lostWorker(story, Date.now())
  if (lost === undefined) throw fail('invalid_state', { action: 'resume as lost', status: story.status })
  if (lost.isExhausted) throw fail('resume_exhausted', { instance, resumes: lost.resumes })
}
