/** `platform.session.*`: what is refused, what is asked again, a helper that is killed, and no helper where there is no session. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { SESSION_PROMPT_MAX_BYTES, SESSION_REQUESTS_MAX } from '../../src/core/limits.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { processesOf } from '../../src/sessions/guardian/processes.ts'
import { createdOn, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import { type PlainResolver, plainResolver } from '../support/plain-resolver.ts'
import { PLATFORM_CALLS } from '../support/platform-calls.ts'
import { askOwner, platformOn } from '../support/platforms.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})

const SCRIPT = { sessions: { j: [{ text: '{"n":1}' }], '*': [{ text: 'one' }, { text: 'two' }, { text: 'three' }] } }

/** A resolver whose scripts lie beside it. */
function talker(behaviour: string, name: string, script: unknown = SCRIPT): PlainResolver {
  const made = plainResolver(
    `const model = 'scripted/' + process.cwd() + '/script.json'
    try { me.finish({ status: 'completed', output: JSON.stringify(await (async () => { ${behaviour} })()) }) }
    catch (error) { me.finish({ status: 'failed', error: JSON.stringify(error) }) }`,
    { name, supports_resume: true },
    PLATFORM_CALLS,
  )
  writeFileSync(join(made.dir, 'script.json'), JSON.stringify(script))
  return made
}

async function outputOf(resolver: PlainResolver): Promise<unknown> {
  const { story } = await ranToEnd(home, resolver)
  expect({ status: story.status, error: story.error }).toEqual({ status: 'completed', error: null })
  return JSON.parse(story.output ?? '') as unknown
}

// verifies: R40-SESSIONS
test('a session is known by name and number, a prompt by its number: what is asked again is not done again', async () => {
  const behaviour = `
    const ids = await Promise.all([create('a', { model }), create('a', { model }), create('a', { model }, { number: 3 })])
    const [first, again] = await Promise.all([prompt('a', 1, 'Go.'), prompt('a', 1, 'Go.')])
    const second = await prompt('a', 2, 'On.')
    return { ids, outputs: [first, again, second, await prompt('a', 1, 'Go.'), await prompt('a-3', 1, 'Go.')].map((one) => one.output), last: second }`
  expect(await outputOf(talker(behaviour, 'asks-again'))).toEqual({
    ids: [{ session_id: 'a' }, { session_id: 'a' }, { session_id: 'a-3' }],
    outputs: ['one', 'one', 'two', 'one', 'one'],
    last: {
      output: 'two',
      usage: { input_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 0 },
      cost_usd: null,
      steps: 1,
    },
  })
}, 60_000)

const GIF = 'R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs='

const REFUSED = {
  'no name': [`call('platform.session.create', { number: 1 })`, 'session_call_refused'],
  'a path as its name': [`create('../up', { model })`, 'session_call_refused'],
  'no number': [`call('platform.session.create', { name: 'b', options: { model } })`, 'session_call_refused'],
  'half a number': [`create('b', { model }, { number: 1.5 })`, 'session_call_refused'],
  'options that are a list': [`create('b', [])`, 'session_call_refused'],
  'an unknown option': [`create('b', { model, readOnly: true })`, 'session_call_refused'],
  'an option of the wrong type': [`create('b', { model, tools: 'read' })`, 'session_call_refused'],
  'an unknown option of fetch': [`create('b', { model, fetch: { privateAddresses: true } })`, 'session_call_refused'],
  'servers that are no object': [`create('b', { model, mcp: { x: 'npx' } })`, 'session_options_invalid'],
  'own tools': [`create('b', { model, own_tools: { x: {} } })`, 'session_call_refused'],
  'an unknown parameter': [`create('b', { model }, { privileged: true })`, 'session_call_refused'],
  'an unknown tool': [`create('b', { model, tools: ['magic'] })`, 'session_options_invalid'],
  'other options for the same session': [`create('a', { model, read_only: true })`, 'session_call_refused'],
  'the id of another session': [
    `create('x-2', { model }).then(() => create('x', { model }, { number: 2 }))`,
    'session_call_refused',
  ],
  'no model': [`create('c')`, 'sessions_missing'],
  'options of more than 1 MiB': [`create('d', { model, instructions: 'x'.repeat(1 << 20) })`, 'input_too_large'],
  'long instructions': [`create('d', { model, instructions: 'x'.repeat(1 << 19) })`, 'session_options_invalid'],
  'a session that is not open': [`prompt('gone', 1, 'Go.')`, 'session_not_open'],
  'a path as its session': [`prompt('../a', 1, 'Go.')`, 'session_call_refused'],
  'a prompt that is no text': [`prompt('a', 1, { go: 1 })`, 'session_call_refused'],
  'a prompt without a number': [`prompt('a', undefined, 'Go.')`, 'session_call_refused'],
  'a prompt of more than 1 MiB': [`prompt('a', 1, 'x'.repeat(${SESSION_PROMPT_MAX_BYTES + 1}))`, 'input_too_large'],
  'the second prompt first': [`prompt('a', 2, 'Go.')`, 'session_call_refused'],
  'an image outside of the workspace': [`prompt('a', 1, 'Go.', { images: ['/etc/passwd'] })`, 'session_image_refused'],
  'an image that is none': [
    `prompt('a', 1, 'Go.', { images: [{ data: 'AAAA', media_type: 'image/png' }] })`,
    'session_image_refused',
  ],
  'images that are no list': [`prompt('a', 1, 'Go.', { images: 'a.png' })`, 'session_call_refused'],
  'an image with another field': [
    `prompt('a', 1, 'Go.', { images: [{ data: '', media_type: 'image/png', url: 'x' }] })`,
    'session_call_refused',
  ],
  'images of more than 1 MiB': [
    `prompt('a', 1, 'Go.', { images: [{ data: 'A'.repeat(1 << 20), media_type: 'image/png' }] })`,
    'input_too_large',
  ],
  'a schema that is no object': [`prompt('a', 1, 'Go.', { schema: 'x' })`, 'session_call_refused'],
  'to steer what is not open': [
    `call('platform.session.steer', { session_id: 'gone', text: 'x' })`,
    'session_not_open',
  ],
  'to steer without a text': [`call('platform.session.steer', { session_id: 'a' })`, 'session_call_refused'],
  'a foreign token': [`create('b', { model }, { token: 'f'.repeat(64) })`, 'session_call_refused'],
  'no epoch': [`create('b', { model }, { epoch: null })`, 'session_call_refused'],
} as const

test('what does not fit is refused with its code, and the sessions go on', async () => {
  const tries = Object.entries(REFUSED).map(([what, [code]]) => `${JSON.stringify(what)}: () => ${code}`)
  const behaviour = `
    await create('a', { model })
    const codes = {}
    for (const [what, attempt] of Object.entries({ ${tries.join(', ')} }))
      codes[what] = await attempt().then((done) => 'done: ' + JSON.stringify(done), ({ code }) => code)
    await call('platform.session.steer', { session_id: 'a', text: 'Be quick.' })
    await create('j', { model })
    const { object } = await prompt('j', 1, 'Count.', { schema: { type: 'object', required: ['n'] } })
    return { codes, object, output: (await prompt('a', 1, 'Go.', { images: [{ data: '${GIF}', media_type: 'image/gif' }] })).output }`
  const expected = Object.fromEntries(Object.entries(REFUSED).map(([what, [, code]]) => [what, code]))
  const { story, id } = await ranToEnd(home, talker(behaviour, 'tries-all'))
  expect(story.error).toBeNull()
  expect(JSON.parse(story.output ?? '')).toEqual({ codes: expected, object: { n: 1 }, output: 'one' })
  const transcript = join(instancePaths(home, id).project, '.resolve/sessions/a/transcript.jsonl')
  expect(readFileSync(transcript, 'utf8')).toContain('Be quick.')
  expect(readFileSync(transcript, 'utf8')).toContain('"media_type":"image/gif"')
}, 60_000)

test('more requests at once than may wait are refused, and other calls are answered meanwhile', async () => {
  const behaviour = `
    for (let n = 1; n <= ${SESSION_REQUESTS_MAX + 1}; n += 1) await create('s', { model }, { number: n })
    const ids = ['s', ...Array.from({ length: ${SESSION_REQUESTS_MAX} }, (_, at) => 's-' + (at + 2))]
    const last = ids.map((id) => prompt(id, 1, 'Wait.').then(() => 'done', ({ code }) => code)).at(-1)
    const other = await call('platform.removeSubContainer', { container_id: 'none' }).catch(({ code }) => code)
    return { last: await last, other }`
  expect(await outputOf(talker(behaviour, 'floods', SLOW))).toEqual({ last: 'too_many', other: 'sandbox_refused' })
}, 60_000)

const SLOW = {
  sessions: { '*': [{ calls: [{ tool: 'shell', input: { command: 'touch began; sleep 600' } }] }, { text: 'Done.' }] },
}

// verifies: R40-SESSIONS
test('a helper that is killed is started again, and the prompt is answered; a long prompt holds up nothing else', async () => {
  const behaviour = `
    await create('slow', { model })
    const slow = prompt('slow', 1, 'Wait.')
    const fast = await call('platform.session.steer', { session_id: 'slow', text: 'Be quick.' })
    return { fast, slow: (await slow).output }`
  const platform = await platformOn(home)
  try {
    const id = await createdOn(platform, talker(behaviour, 'is-slow', SLOW), { input: {}, host: 'here' })
    const dir = join(instancePaths(home, id).project, '.resolve')
    const helpers = () => processesOf(dir).filter(({ argv }) => argv.some((word) => word.endsWith('session-helper.js')))
    const commands = () => processesOf(dir).filter(({ argv }) => argv[0] === 'sleep')
    await expect.poll(() => commands().length, { timeout: 30_000 }).toBe(1)
    const [first] = helpers()
    process.kill(first?.pid ?? 0, 'SIGKILL')
    await platform.over(id)
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: '{"fast":null,"slow":"Done."}' })
    // What the killed one had started was ended by the next.
    expect(processesOf(dir)).toEqual([])
  } finally {
    await platform.close()
  }
}, 60_000)

test('a resolver without sessions has no helper', async () => {
  const platform = await platformOn(home)
  try {
    const id = await createdOn(
      platform,
      plainResolver(`await me.ask('q', 'Go on?'); me.finish({ status: 'completed' })`, { name: 'has-none' }),
      { input: {}, host: 'here' },
    )
    await until(home, id, ({ status }) => status === 'awaiting_input')
    const dir = join(instancePaths(home, id).project, '.resolve')
    expect(processesOf(dir).map(({ argv, helper }) => ({ program: argv.at(-1), helper }))).toEqual([
      { program: 'program.mjs', helper: undefined },
    ])
    await askOwner(home, id, (owner) => owner.answer(id, 'q', {}, { actor: 'tester', via: 'cli' }))
    await platform.over(id)
  } finally {
    await platform.close()
  }
}, 60_000)
