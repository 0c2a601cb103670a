/**
 * What an instance is, as plain as the specification's table: no files, no processes, no time. {@link file://./instance.test.ts} walks it
 * beside the real host. Each step says what the consumer is told and changes the model in place.
 */
import type { RequestStatus, ResultStatus } from '../../src/core/protocol/instance.ts'
import { isTerminal, type Status } from '../../src/core/protocol/status.ts'

export interface Model {
  readonly isResumable: boolean
  status: Status
  /** Why it came into its status. */
  reason: string | null
  requests: Record<string, RequestStatus>
  answers: Record<string, string>
  messages: string[]
  /** What the resolver said that is in the journal. */
  said: string[]
  output: string | null
  error: string | null
  wanted: number
  /** What is asked of the run, and what of it the next host finds. */
  stop: Stop | null
  keptStop: Stop | null
  isHosted: boolean
  isOld: boolean
  isHeld: boolean
  worker: ModelWorker | null
  /** Answers and messages by the key they came with. */
  keys: Record<string, 'answer' | number>
  /** Counts what was sent, so that each has a payload of its own. */
  sent: number
}

interface Stop {
  kind: 'stop' | 'cancel' | 'pause' | 'lifetime'
  reason: string
  isForced: boolean
}

/** The worker of the present incarnation, with what it did that its host may not have seen. */
interface ModelWorker {
  isUp: boolean
  isReady: boolean
  hasRun: boolean
  asked: string[]
  told: string[]
  result: ResultStatus | null
}

/** `ok`, a message's number, or the code of the refusal. */
export type Outcome = string

export function newborn(isResumable: boolean): Model {
  return {
    isResumable,
    status: 'created',
    reason: null,
    requests: {},
    answers: {},
    messages: [],
    said: [],
    output: null,
    error: null,
    wanted: 1,
    stop: null,
    keptStop: null,
    isHosted: false,
    isOld: false,
    isHeld: false,
    worker: null,
    keys: {},
    sent: 0,
  }
}

// What a host does by itself

/** As far as the instance comes without anybody's doing. */
export function goOn(m: Model): void {
  if (!m.isHosted) return
  if (m.status === 'created') move(m, 'starting')
  if (m.worker === null) {
    if (m.stop !== null && m.stop.kind !== 'pause') {
      end(m, endedBeforeRun(m.stop))
      return
    }
    m.worker = newWorker(!m.isHeld)
  }
  if (m.isOld && (m.stop === null || m.stop.kind === 'pause')) {
    m.stop = { kind: 'lifetime', reason: 'lifetime_exceeded', isForced: false }
    if (!m.worker.hasRun) {
      end(m, endedBeforeRun(m.stop))
      return
    }
  }
  if (!m.worker.hasRun && !beginRun(m, m.worker)) return
  carry(m, m.worker)
  if (m.stop?.isForced === true) m.worker.isUp = false
  if (m.worker.result !== null || !m.worker.isUp) end(m, endOfRun(m, m.worker.result))
}

function newWorker(isReady: boolean): ModelWorker {
  return { isUp: true, isReady, hasRun: false, asked: [], told: [], result: null }
}

/** False where the run has not begun. */
function beginRun(m: Model, worker: ModelWorker): boolean {
  const isStopped = m.stop !== null && m.stop.kind !== 'pause'
  if (isStopped) end(m, endedBeforeRun(m.stop as Stop))
  else if (!worker.isUp) end(m, failed('worker_exited'))
  else if (worker.isReady) {
    if (m.status === 'starting') move(m, 'running')
    worker.hasRun = true
  }
  return worker.hasRun && m.worker === worker
}

function carry(m: Model, worker: ModelWorker): void {
  m.said.push(...worker.told.splice(0))
  for (const id of worker.asked.splice(0)) {
    // One that was withdrawn may be asked again; one that is open or answered is no news.
    if (m.requests[id] === undefined || m.requests[id] === 'cancelled') m.requests[id] = 'pending'
  }
  reconcile(m)
}

function reconcile(m: Model): void {
  const isAsking = Object.values(m.requests).includes('pending')
  if (isAsking && m.status === 'running') move(m, 'awaiting_input')
  if (!isAsking && m.status === 'awaiting_input') move(m, 'running')
}

// How runs end (R21 to R27)

interface Ending {
  status: Status
  reason: string | null
  output: string | null
  error: string | null
}

function endOfRun(m: Model, result: ResultStatus | null): Ending {
  const { stop } = m
  const output = result === null ? null : `it ${result}`
  const isStop = stop !== null && (stop.kind === 'stop' || stop.kind === 'cancel')
  const why = stop?.reason ?? null
  const tooOld: Ending = { status: 'failed', reason: 'lifetime_exceeded', output, error: 'lifetime_exceeded' }
  if (stop?.kind === 'lifetime' && (result !== 'paused' || !m.isResumable)) return tooOld
  if (result === null)
    return isStop ? { status: 'cancelled', reason: why, output, error: null } : failed('worker_exited')
  if (result === 'completed') return { status: 'completed', reason: null, output, error: null }
  if (result === 'failed') return failed('resolver_failed', output)
  if (result === 'cancelled') {
    return stop === null ? failed('cancelled', output) : { status: 'cancelled', reason: why, output, error: null }
  }
  if (stop?.kind === 'cancel') return { status: 'cancelled', reason: stop.reason, output, error: null }
  if (!m.isResumable) return failed('not_resumable', output)
  return { status: 'paused', reason: stop?.reason ?? null, output, error: null }
}

function endedBeforeRun(stop: Stop): Ending {
  if (stop.kind === 'lifetime') return { ...failed('lifetime_exceeded'), reason: 'lifetime_exceeded' }
  return { status: 'cancelled', reason: stop.reason, output: null, error: null }
}

function failed(error: string, output: string | null = null): Ending {
  return { status: 'failed', reason: null, output, error }
}

function end(m: Model, { status, reason, output, error }: Ending): void {
  for (const id of Object.keys(m.requests)) if (m.requests[id] === 'pending') m.requests[id] = 'cancelled'
  move(m, status, reason)
  m.output = output
  m.error = error
  m.isHosted = false
  m.stop = null
  m.keptStop = null
  m.worker = null
}

function move(m: Model, to: Status, reason: string | null = null): void {
  m.status = to
  m.reason = reason
}

export function isOver(m: Model): boolean {
  return isTerminal(m.status)
}

/** It can have a host, and a request to it starts one. */
export function isLive(m: Model): boolean {
  return !isOver(m) && m.status !== 'paused'
}

// What consumers ask

export function answer(m: Model, id: string, payload: string, key: string): Outcome {
  if (m.keys[`${id} ${key}`] === 'answer') return 'ok'
  const status = m.requests[id]
  if (status === undefined) return 'request_unknown'
  if (status === 'cancelled') return 'request_cancelled'
  if (status === 'answered') return 'already_answered'
  if (payload === '') return 'form_invalid'
  m.requests[id] = 'answered'
  m.answers[id] = payload
  m.keys[`${id} ${key}`] = 'answer'
  reconcile(m)
  return 'ok'
}

export function message(m: Model, text: string, key: string): Outcome {
  const before = m.keys[key]
  if (before !== undefined) return String(before)
  if (m.status !== 'running' && m.status !== 'awaiting_input') return 'invalid_state'
  m.messages.push(text)
  m.keys[key] = m.messages.length
  return String(m.messages.length)
}

export function stop(m: Model, kind: 'stop' | 'cancel', isForced: boolean): Outcome {
  if (isOver(m)) return 'invalid_state'
  const reason = `${kind}_requested`
  if (m.status === 'paused') {
    move(m, 'cancelled', reason)
    m.error = null
    return 'ok'
  }
  if (m.stop !== null && m.stop.kind !== 'pause' && !isForced) return 'ok'
  m.stop = { kind, reason, isForced }
  m.keptStop = m.stop
  return 'ok'
}

export function pause(m: Model): Outcome {
  if (!m.isResumable) return 'resume_unsupported'
  if (m.status !== 'running' && m.status !== 'awaiting_input') return 'invalid_state'
  if (m.stop?.kind === 'pause') return 'ok'
  if (m.stop !== null) return 'invalid_state'
  m.stop = { kind: 'pause', reason: 'pause_requested', isForced: false }
  m.keptStop = m.stop
  return 'ok'
}

export function resume(m: Model): Outcome {
  if (!m.isResumable) return 'resume_unsupported'
  if (m.isHosted || m.status !== 'paused') return 'invalid_state'
  move(m, 'running', 'resumed')
  m.output = null
  m.error = null
  m.wanted += 1
  m.isHosted = true
  return 'ok'
}

// What becomes of hosts and workers

export function host(m: Model): Outcome {
  m.isHosted = isLive(m)
  return 'ok'
}

/** Whether it said goodbye or not: the next one finds what was kept. */
export function loseHost(m: Model): Outcome {
  m.isHosted = false
  m.stop = m.keptStop
  return 'ok'
}
