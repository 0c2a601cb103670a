/** What a resolver tells of LLM sessions, as the host takes it: checked, once for each turn, and ended with the instance (R56). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SESSIONS_TOLD_MAX } from '../../src/core/limits.ts'
import { openLocalPlatform } from '../../src/core/platform/local/local.ts'
import { sessionSummary } from '../../src/core/protocol/session/session.ts'
import { fits } from '../../src/core/schema/fits.ts'
import { listOf } from '../../src/core/schema/schema.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { root } from '../house/source-files.ts'
import { ranToEnd, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const HEAD = `
  const about = (id, turn) => ({ session_id: id, session_name: id, turn, model: 'acme/x', kind: 'live' })
  const usage = { input_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 2, foreign: 'x' }
  const dispatched = (id, turn, more = {}) => me.emit('resolver:session_dispatched', { ...about(id, turn), ...more })
  const completed = (id, turn, more = {}) => me.emit('resolver:session_completed', { ...about(id, turn), success: true, duration_seconds: 1, steps: 1, usage, cost_usd: 0.5, ...more })
`

// verifies: R56
test('each turn is journaled once, and counts once where it is worked on again; what does not fit is rejected; what is open ends with the instance', async () => {
  const resolver = plainResolver(
    `${HEAD}
    dispatched('a', 1); dispatched('a', 1); completed('a', 1, { extra: 'x' }); completed('a', 1); dispatched('a', 1)
    dispatched('a', 2); completed('a', 2, { success: false, cost_usd: null, error: { code: 'c', detail: 'd'.repeat(9000) } })
    dispatched('a', 2); completed('a', 2, { steps: 2, usage: { ...usage, input_tokens: 10, output_tokens: 4 } }); completed('a', 3); completed('never', 1)
    dispatched('../up', 1); dispatched('b', 0); dispatched('c', 1, { kind: 'magic' }); dispatched('left', 1)
    me.finish({ status: 'completed' })`,
    { name: 'teller' },
  )
  const home = temporaryHome()
  const { id, story } = await ranToEnd(home, resolver)
  expect(story.status).toBe('completed')
  expect(story.sessions).toMatchObject([
    { id: 'a', status: 'completed', turns: 2, steps: 3, usage: { input_tokens: 15, output_tokens: 6 }, cost_usd: null },
    { id: 'left', status: 'ended', turns: 1 },
  ])
  const journal = readFileSync(instancePaths(home, id).journal, 'utf8')
  const told = [
    ...journal.matchAll(
      /"event_type":"platform\.resolver\.session_(\w+)","instance_id":"\w+","data":(\{.*?\}),"timestamp"/g,
    ),
  ]
  expect(told.map(([, what]) => what)).toEqual([
    ...['dispatched', 'completed', 'dispatched', 'completed', 'dispatched', 'completed', 'dispatched'],
  ])
  expect(journal).not.toContain('foreign')
  expect(journal).not.toContain('extra')
  expect(journal).not.toContain('d'.repeat(5_000))
  expect(journal).toContain('"reason":"session_event"')
  expect(story.rejected).toBe(3)
})

test('numbers that are none, or that no sum holds, are rejected; the sums stay numbers for every client', async () => {
  const resolver = plainResolver(
    `${HEAD}
    const raw = (type, data) => fs.appendFileSync(root + '/events.jsonl', '{"schema_version":1,"event_type":"resolver:session_' + type + '","instance_id":"' + me.config.instance_id + '","timestamp":"' + new Date().toISOString() + '","data":' + data + '}\\n')
    const odd = (more) => completed('a', 1, more)
    dispatched('a', 1)
    odd({ cost_usd: -1 }); odd({ cost_usd: 'free' }); odd({ cost_usd: 1e300 }); odd({ duration_seconds: -5 }); odd({ steps: 1.5 })
    odd({ usage: { ...usage, input_tokens: -5 } }); odd({ usage: { ...usage, input_tokens: 1e300 } }); odd({ usage: null }); odd({ success: 'yes' })
    raw('completed', JSON.stringify({ ...about('a', 1), success: true, duration_seconds: 1, steps: 1, usage, cost_usd: 0 }).replace('"cost_usd":0', '"cost_usd":1e999'))
    raw('completed', JSON.stringify({ ...about('a', 1), success: true, duration_seconds: 1, steps: 1, usage, cost_usd: 0 }).replace('"cost_usd":0', '"cost_usd":NaN'))
    dispatched('a', 1e300); dispatched('a', 'x'); dispatched('a', 1, { model: 'm'.repeat(300) })
    dispatched('x'.repeat(81), 1); dispatched('a\\u0000b', 1); dispatched('.', 1); dispatched(null, 1)
    completed('a', 1, { usage: { ...usage, input_tokens: 1e12, output_tokens: 1e12 }, cost_usd: 1e12 })
    dispatched('a', 2)
    completed('a', 2, { usage: { ...usage, input_tokens: 1e12, output_tokens: 1e12 }, cost_usd: 1e12 })
    me.finish({ status: 'completed' })`,
    { name: 'forger' },
  )
  const home = temporaryHome()
  const { id, story } = await ranToEnd(home, resolver)
  expect(story.status).toBe('completed')
  expect(story.sessions).toMatchObject([
    { id: 'a', status: 'completed', turns: 2, usage: { input_tokens: 2e12 }, cost_usd: 2e12 },
  ])
  expect(story.rejected).toBe(18)
  const platform = await openLocalPlatform({ home, builtins: join(root, 'src/resolvers') })
  try {
    const sessions = await platform.sessions(id)
    expect(fits(listOf(sessionSummary), JSON.parse(JSON.stringify(sessions)))).toBe(true)
  } finally {
    await platform.close()
  }
})

test('a resolver that tells of fifty thousand sessions, each with its own id, costs neither the host nor its readers', async () => {
  const resolver = plainResolver(
    `${HEAD}
    const line = (n) => JSON.stringify({ schema_version: 1, event_type: 'resolver:session_dispatched', instance_id: me.config.instance_id, data: about('s' + n, 1), timestamp: new Date().toISOString() }) + '\\n'
    for (let n = 0; n < 50_000; n += 1_000) fs.appendFileSync(root + '/events.jsonl', Array.from({ length: 1_000 }, (_, at) => line(n + at)).join(''))
    me.finish({ status: 'completed' })`,
    { name: 'flooder' },
  )
  const home = temporaryHome()
  const { story } = await ranToEnd(home, resolver)
  expect(story.status).toBe('completed')
  // The latest stay.
  expect(story.sessions).toHaveLength(SESSIONS_TOLD_MAX)
  expect(story.sessions?.at(-1)).toMatchObject({ id: 's49999', status: 'ended' })
})

test.each(['fifo', 'link', 'directory', 'junk', 'deep'])(
  'a transcript that is made a %s neither hangs nor leaks',
  async (what) => {
    const makes: Record<string, string> = {
      fifo: "require('node:child_process').spawnSync('mkfifo', [path])",
      link: "fs.symlinkSync('/etc/passwd', path)",
      directory: 'fs.mkdirSync(path)',
      junk: 'fs.writeFileSync(path, \'junk\\n{}\\n[1]\\n{"seq":1,"at":"2026-01-01T00:00:00Z","type":"prompt","text":"x","turn":1}\\n{"seq":2,"at":"never","type":"prompt"}\\n{"seq":\')',
      deep: 'fs.writeFileSync(path, \'{"seq":1,"at":"2026-01-01T00:00:00Z","type":"tool_call","input":\' + \'[\'.repeat(5000) + \']\'.repeat(5000) + \'}\\n\')',
    }
    const resolver = plainResolver(
      `const require = process.getBuiltinModule('node:module').createRequire('/')
    fs.mkdirSync(root + '/sessions/work', { recursive: true })
    const path = root + '/sessions/work/transcript.jsonl'
    ${makes[what]}
    me.finish({ status: 'completed' })`,
      { name: `makes-${what}` },
    )
    const home = temporaryHome()
    const { id, story } = await ranToEnd(home, resolver)
    expect(story.status).toBe('completed')
    const platform = await openLocalPlatform({ home, builtins: join(root, 'src/resolvers') })
    try {
      const reading = platform.transcript(id, 'work')
      if (what === 'junk') {
        const { events, meta } = await reading
        expect(events).toEqual([
          { type: 'prompt:submit', timestamp: '2026-01-01T00:00:00.000Z', data: { turn: 1, prompt: 'x' } },
        ])
        expect(meta).toMatchObject({ total_lines: 5, extracted_events: 1 })
      } else if (what === 'deep') expect((await reading).events).toEqual([])
      else await expect(reading).rejects.toMatchObject({ code: 'session_unknown' })
      await expect(platform.transcript(id, '../..')).rejects.toMatchObject({ code: 'session_unknown' })
    } finally {
      await platform.close()
    }
  },
)
