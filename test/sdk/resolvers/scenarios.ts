/** One resolver for the tests of the SDK: `scenario` in its input says what its run does. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Context, length, optional, type ResolverResult, resolver, select, text } from '../../../src/sdk/index.ts'

const FOR_EVER_MS = 1_000_000

type Scenario = (ctx: Context) => unknown

const until = (signal: AbortSignal) => sleep(FOR_EVER_MS, undefined, { signal })

const scenarios: Record<string, Scenario> = {
  text: () => 'done',
  nothing: () => undefined,
  'failed-result': () => ({ status: 'failed', error: 'no luck' }),
  'odd-result': () => ({ status: 'splendid' }),
  throws: () => {
    throw new Error('boom')
  },
  exits: () => process.exit(3),
  uncaught: async ({ signal }) => {
    setTimeout(() => {
      throw new Error('out of the blue')
    }, 20)
    await until(signal)
  },
  unhandled: async ({ signal }) => {
    void Promise.reject(new Error('an unhandled rejection'))
    await until(signal)
  },
  waits: async ({ signal, emit }) => {
    emit('waiting')
    await until(signal)
  },
  loops: async ({ signal, emit }) => {
    emit('waiting')
    while (!signal.aborted) await sleep(5)
  },
  wraps: async ({ signal, emit }) => {
    emit('waiting')
    await until(signal).catch((cause: unknown) => {
      throw new Error('the step was interrupted', { cause })
    })
  },
  'breaks-on-stop': async ({ signal, emit }) => {
    emit('waiting')
    await until(signal).catch(() => {})
    throw new TypeError('a real fault')
  },
  'text-later': async ({ emit }) => {
    emit('waiting')
    await sleep(300)
    return 'done'
  },
  'exits-on-stop': async ({ signal, emit, params, checkpoint }) => {
    if (params['saves'] === true) checkpoint.save({ step: 7 })
    signal.addEventListener('abort', () => process.exit(0))
    emit('waiting')
    await sleep(FOR_EVER_MS)
  },
  'saves-and-waits': async ({ signal, emit, checkpoint, resume }) => {
    const saved = checkpoint.load<{ step: number }>()
    if (resume) return `went on from ${saved?.step ?? 'the beginning'}`
    checkpoint.save({ step: 7 })
    emit('waiting')
    await until(signal)
  },
  'never-saves': async ({ signal, emit, checkpoint, resume }) => {
    if (resume) return `went on from ${checkpoint.load() ?? 'the beginning'}`
    emit('waiting')
    await until(signal)
  },
  pauses: ({ pause, resume }) => (resume ? 'resumed' : pause('waiting for a review')),
  'completes-itself': ({ emit }) => {
    emit('resolver:completed', { outcome: 'success', summary: 'mine', duration_s: 1, artifact_count: 0 })
    return 'done'
  },
  emits: ({ emit, progress, artifact, phase }) => {
    emit('step.done', { text: 'line\u2028and\u2029paragraph' })
    emit('scenarios.own')
    phase('first')
    phase('second')
    progress('half', 0.5, 'Half of it')
    progress('unknown')
    artifact('summary', 'all of it', { pages: 2 })
    try {
      emit('platform.instance.status_changed', { to: 'completed' })
    } catch (error) {
      return (error as Error).message
    }
  },
  states: (ctx) => {
    ctx.updateState({ phase: 'a', kept: 1 })
    ctx.mergeState({ more: 2 })
    ctx.emit('merged', ctx.state)
    ctx.updateState({ only: 3 })
    ctx.emit('replaced', ctx.state)
  },
  'many-states': async ({ updateState, signal }) => {
    for (let number = 0; !signal.aborted; number++) {
      updateState({ number, filler: 'x'.repeat(50_000) })
      await sleep(1)
    }
  },
  data: async ({ data }) => {
    await data.write('notes/first.md', 'one')
    await data.write('notes/first.md', 'two')
    const refused = await data.write('../outside', 'x').catch((error: Error) => error.message)
    return `${await data.read('notes/first.md')} ${await data.read('missing')} ${refused}`
  },
  asks: async ({ ask, requestInput, emit }) => {
    const { size, note } = await ask('size', 'Which size?', {
      size: select({ options: ['small', 'large'], default: 'small' }),
      note: text({ checks: [{ condition: optional(length({ min: 3 })), message: 'Too short' }] }),
    })
    const again = await requestInput('size', 'Again?', { type: 'form', components: [] }).catch((e: Error) => e.message)
    emit('refused', { again })
    const odd = await requestInput('../x', 'Odd?', { type: 'form', components: [] }).catch((e: Error) => e.message)
    emit('refused', { odd })
    return `${size} ${note}`
  },
  'asks-badly': async ({ requestInput }) => {
    await requestInput('bad', 'Bad?', { type: 'form', components: [] })
  },
  'forgets-its-question': async ({ requestInput, signal, emit }) => {
    void requestInput('forgotten', 'Anybody?', { type: 'form', components: [] })
    emit('waiting')
    await until(signal)
  },
  prints: async ({ emit }) => {
    console.log('from console.log')
    process.stdout.write('from process.stdout\n')
    emit('printed')
  },
  sessions: async ({ sessions }) => await sessions.create('writer').then(() => 'opened'),
  messages: async ({ signal, onMessage, emit }) => {
    onMessage((type) => emit('heard', { type }))
    emit('waiting')
    await until(signal)
  },
  'emits-late': ({ emit }) => {
    setTimeout(() => emit('too-late'), 50)
    return 'done'
  },
  burst: ({ emit }) => {
    for (let number = 0; number < 500; number++) emit('numbered', { number })
  },
}

resolver({
  name: 'scenarios',
  version: '1.2.3',
  description: 'Does what its scenario says',
  supportsResume: true,
  params: (filled) => ({
    scenario: text({ label: 'Scenario', required: true }),
    detail: filled['scenario'] === 'text' ? text({ label: 'Detail' }) : undefined,
  }),
  messages: {
    note: {
      label: 'Note',
      description: 'Any time',
      fields: { text: text({ label: 'Text' }) },
      on: ({ text }, ctx) => ctx.emit('noted', { text }),
    },
    faster: { label: 'Faster', description: 'While building', fields: {}, when: ({ phase }) => phase === 'building' },
    broken: {
      label: 'Broken',
      description: 'Its handler fails',
      fields: {},
      on: () => {
        throw new Error('broken handler')
      },
    },
  },
  workspace: (_params, credentials) => (credentials.length === 0 ? null : { repos: [{ url: 'https://x.test/r' }] }),
  container: ({ detail }) => (detail === undefined ? null : { setup_commands: [`echo ${detail}`] }),
  run: async (ctx) => (await scenarios[ctx.params.scenario]?.(ctx)) as string | ResolverResult | undefined,
}).serve()
