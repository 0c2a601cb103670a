/**
 * Failpoints: named steps between an intent and its effect at which a test can inject a fault
 * (docs/decisions/0012-faults-and-figures.md). The core calls {@link failpoint} at each; without RESOLVE_FAILPOINTS the call
 * does nothing. Workers do not get the variable (R45).
 */

/** Every step, in the order in which an instance passes them; test/faults injects faults at each. */
const STEPS = {
  // Files of the home that are replaced as a whole: written under a temporary name, synced, renamed.
  catalog: ['drafted', 'written', 'renamed'],
  tokens: ['drafted', 'written', 'renamed'],
  secrets: ['drafted', 'written', 'renamed'],
  /** An Idempotency-Key: claimed before the effect, answered after it. */
  key: ['drafted', 'linked', 'claimed', 'answering', 'answered'],
  targets: ['drafted', 'written', 'renamed'],
  /** The notices of an instance: its file is made, a notice is sent, the cursor of its target moves on, the file is removed. */
  outbox: ['opened', 'sending', 'sent', 'kept', 'removed'],
  /** An archive of a resolver: unpacked beside its place, and moved there. */
  upload: ['unpacked', 'placed'],
  creation: ['drafted', 'written', 'recorded', 'renamed', 'durable'],
  owner: ['drafted', 'claimed', 'opened', 'releasing', 'released'],
  /** Appends to the journal, for lines of any kind; a damaged journal is kept, and its trusted part takes its name. */
  journal: ['writing', 'written', 'frozen'],
  /** Appends to the log of an instance. */
  log: ['writing', 'written'],
  move: ['recorded', 'synced', 'saved'],
  /** A host that waits for its turn: the place told, the lock of the home taken, the turn written. */
  queue: ['told', 'locked', 'granted'],
  /** A due schedule: the id of its instance is fixed, the instance exists, the outcome is kept. */
  schedule: ['claimed', 'created', 'recorded'],
  launch: ['configured', 'piped', 'spawned', 'saved', 'started', 'noted'],
  setup: ['created', 'started', 'ended', 'committed', 'admitted'],
  /** The repositories of a workspace: fetched into the cache, cloned, moved into the workspace, all of them noted. */
  workspace: ['fetched', 'cloned', 'placed', 'ready'],
  container: ['prepared', 'created', 'saved', 'attached', 'started'],
  adoption: ['reached', 'noted'],
  ready: ['answered', 'noted'],
  /** A snapshot of a repository: its commit made, its ref written, told in the journal. */
  snapshot: ['made', 'kept', 'told'],
  run: ['sent', 'acknowledged', 'marked', 'published'],
  events: ['read', 'carried'],
  request: ['listed', 'noticed', 'noted'],
  /** The values of secret fields that are about to be accepted. */
  seal: ['listed'],
  answer: ['appended', 'accepted', 'published', 'called', 'marked'],
  message: ['appended', 'accepted', 'published', 'called', 'marked'],
  stop: ['appended', 'accepted', 'called', 'terminating', 'killing'],
  pause: ['appended', 'accepted'],
  resume: ['moving'],
  /** A promotion: its intent kept, pushed, that kept, the forge asked to create, its answer there, the end kept. */
  promotion: ['intended', 'pushed', 'opening', 'asked', 'created', 'kept'],
  end: ['known', 'asked', 'terminating', 'gone', 'drained', 'preserved', 'scrubbing', 'cleaned', 'told'],
} as const

type Steps = typeof STEPS
export type Failpoint = { [Subject in keyof Steps]: `${Subject}.${Steps[Subject][number]}` }[keyof Steps]

export const FAILPOINTS: readonly Failpoint[] = Object.entries(STEPS).flatMap(([subject, steps]) =>
  steps.map((step) => `${subject}.${step}` as Failpoint),
)

interface Fault {
  /** Only the n-th time the step is passed; every time where it is absent. */
  at: number | undefined
  action: string
}

/** `name=action[,name@n=action…]`; an action is `kill`, `throw`, `enospc` or `sleep:MS`. Throws for anything else. */
export function parseFailpoints(text: string): Map<Failpoint, Fault[]> {
  const faults = new Map<Failpoint, Fault[]>()
  for (const part of text.split(',').filter((one) => one.trim() !== '')) {
    const [, name, at, action] =
      /^([a-z]+\.[a-z]+)(?:@([1-9]\d{0,8}))?=(kill|throw|enospc|sleep:\d{1,6})$/.exec(part.trim()) ?? []
    const known = FAILPOINTS.find((candidate) => candidate === name)
    if (known === undefined || action === undefined) {
      throw fault(
        'ERR_RESOLVE_FAILPOINTS',
        `RESOLVE_FAILPOINTS has "${part.trim()}", which names no failpoint with an action.`,
      )
    }
    faults.set(known, [...(faults.get(known) ?? []), { at: at === undefined ? undefined : Number(at), action }])
  }
  return faults
}

function arm(text: string): (name: Failpoint) => void {
  const faults = parseFailpoints(text)
  const passed = new Map<Failpoint, number>()
  return (name) => {
    const count = (passed.get(name) ?? 0) + 1
    passed.set(name, count)
    for (const { at, action } of faults.get(name) ?? []) if (at === undefined || at === count) act(action, name)
  }
}

function act(action: string, name: Failpoint): void {
  if (action === 'kill') {
    process.kill(process.pid, 'SIGKILL')
    // Blocks until the signal has taken effect.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, KILL_LIMIT_MS)
  }
  if (action === 'throw') throw fault('EIO', `EIO: i/o error, failpoint '${name}'`)
  if (action === 'enospc') throw fault('ENOSPC', `ENOSPC: no space left on device, failpoint '${name}'`)
  if (action.startsWith('sleep:')) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(action.slice('sleep:'.length)))
  }
}

/** The same error that node:fs throws. */
function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code, syscall: 'write' })
}

const KILL_LIMIT_MS = 10_000

/** Passes a step: runs the action that RESOLVE_FAILPOINTS names for it. The variable is read once, when this file is loaded. */
export const failpoint: (name: Failpoint) => void = process.env['RESOLVE_FAILPOINTS']
  ? arm(process.env['RESOLVE_FAILPOINTS'])
  : () => {}
