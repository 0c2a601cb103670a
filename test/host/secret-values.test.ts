/** Named secrets and secret fields of forms through a whole life: the resolver gets them, and no file, event, answer or export has them (R55; threats B9). */
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { setSecret } from '../../src/core/secrets/secret-store.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

const NAMED = 'named-canary-"7\\d/ü&=='
const GIVEN = "given-canary-PASS word'9%"
const ANSWERED = 'answer-canary-0123/ABC+x'
const SECRETS = [NAMED, GIVEN, ANSWERED]
const ACTOR = { actor: 'tester', via: 'cli' } as const

const FORM = `({ type: 'form', components: [
  { type: 'text', id: 'user' },
  { type: 'text', id: 'password', secret: true, checks: [{ condition: { call: 'required', args: [{ path: '/password' }] }, message: 'A password is needed.' }] },
] })`
const SETUP = `me.on['resolver.getInstantiationSchema'] = () => ${FORM}`

let home: string
let platform: LocalPlatform
beforeEach(async () => {
  home = temporaryHome()
  platform = await platformOn(home)
  await setSecret(home, 'DEPLOY_KEY', { from: 'value', text: NAMED })
})
afterEach(async () => {
  await platform.close()
})

async function added(behaviour: string, manifest: Record<string, unknown> = {}): Promise<void> {
  const resolver = plainResolver(behaviour, { secrets: ['DEPLOY_KEY'], supports_resume: true, ...manifest }, SETUP)
  await (await platform.catalog()).add(resolver.dir, { cwd: home })
}

async function create(): Promise<string> {
  const input = { user: 'ada', password: GIVEN }
  return (await platform.create({ resolver: 'plain', input })).instance_id
}

/** Every file of the home, as text; what the resolver itself wrote to its own events file is its own. */
function homeText(): string {
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => !name.endsWith('.resolve/events.jsonl') && statSync(join(home, name)).isFile())
    .map((name) => `${name}: ${readFileSync(join(home, name), 'utf8')}`)
    .join('\n')
}

async function handedOut(id: string): Promise<string> {
  const archive: Buffer[] = []
  for await (const chunk of await platform.export(id)) archive.push(chunk)
  const [record, story, state, stderr, messages, requests] = await Promise.all([
    platform.record(id),
    platform.story(id),
    platform.state(id),
    platform.stderrTail(id),
    platform.messages(id),
    platform.inputRequests(id),
  ])
  const told = JSON.stringify({ record, story, state, stderr, messages, requests })
  return `${told}\n${gunzipSync(Buffer.concat(archive)).toString('utf8')}`
}

function expectNone(text: string, secrets: readonly string[] = SECRETS): void {
  for (const secret of secrets) {
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), inner64(secret)]) {
      const at = text.indexOf(form)
      expect(at === -1 ? '' : `${form} in: ${text.slice(Math.max(0, at - 200), at + 80)}`).toBe('')
    }
  }
}

const inner64 = (secret: string) => Buffer.from(secret).toString('base64').slice(0, -4)

const TELLS = `
  const told = [me.config.credentials.DEPLOY_KEY, me.params.password]
  const tell = () => { for (const one of told) {
    me.emit('plain.told', { one, json: JSON.stringify({ one }), url: encodeURIComponent(one), b64: Buffer.from('xy' + one).toString('base64') })
    console.error('told ' + one); print('noise ' + one + '\\n') }
    me.write('state.json', JSON.stringify({ told })) }
  const form = { type: 'form', components: [{ type: 'text', id: 'code', secret: true }, { type: 'text', id: 'note' }] }
  tell()`

// verifies: R55 S-SECRET-01
test('the resolver gets named secrets and secret fields; nothing that is stored or handed out has them', async () => {
  await added(`${TELLS}
    const answer = await me.ask('q', 'Use ' + told[0], form)
    told.push(answer.code); tell()
    const seen = me.fs.readFileSync(root + '/input-requests/q.response.json', 'utf8')
    me.finish({ status: 'completed', output: JSON.stringify([told.join().length, JSON.parse(seen).code === answer.code, answer.note, told]) })`)
  const id = await create()
  await until(home, id, (story) => story.status === 'awaiting_input')
  const config = join(instancePaths(home, id).project, '.resolve/config.json')
  expect(JSON.parse(readFileSync(config, 'utf8'))).toMatchObject({
    credentials: { DEPLOY_KEY: NAMED },
    params: { user: 'ada', password: GIVEN },
  })
  expectNone(await handedOut(id))
  await platform.answer(id, 'q', { code: ANSWERED, note: 'hi' }, ACTOR)
  await platform.over(id)
  const length = SECRETS.join().length
  expect(storyOf(home, id).output).toBe(
    JSON.stringify([length, true, 'hi', ['[redacted]', '[redacted]', '[redacted]']]),
  )
  expect(await platform.record(id)).toMatchObject({ input: { user: 'ada' }, secret_fields: ['password'] })
  expectNone(await handedOut(id))
  expectNone(homeText())
  expect(homeText()).toContain('input-requests/q.response.json: {"note":"hi"}')
  expect(statSync(join(home, 'secret.key')).mode & 0o777).toBe(0o600)
  expect(statSync(join(home, 'secrets.json')).mode & 0o777).toBe(0o600)
})

// verifies: R55
test('the SDK writes no value of a secret field into the events file, which is kept', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'resolve-sdk-secret-'))
  const manifest = { name: 'keeper', version: '1.0.0', description: 'x', command: ['node', 'resolver.mjs'] }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest))
  const program = `import { resolver, text } from 'resolve-platform/sdk'
    const params = { user: text({ label: 'User' }), password: text({ label: 'Password', secret: true }) }
    resolver({ params, run: (ctx) => String(ctx.params.password.length) }).serve()`
  writeFileSync(join(dir, 'resolver.mjs'), program)
  await (await platform.catalog()).add(dir, { cwd: home })
  const { instance_id: id } = await platform.create({ resolver: 'keeper', input: { user: 'ada', password: GIVEN } })
  await platform.over(id)
  expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: String(GIVEN.length) })
  const events = readFileSync(join(instancePaths(home, id).project, '.resolve/events.jsonl'), 'utf8')
  expect(events).toContain('"params":{"user":"ada"}')
  expectNone(events)
})

test('a paused run has none of them in its files, and gets them again when it is resumed', async () => {
  await added(`${TELLS}
    if (!me.resume) { const answer = await me.ask('q', 'Code?', form); me.fs.writeFileSync(root + '/mark', 'x'); await me.stopped; me.finish({ status: 'paused' }) }
    else { const kept = JSON.parse(me.fs.readFileSync(root + '/input-requests/q.response.json', 'utf8'))
      me.finish({ status: 'completed', output: [kept.code, ...told].map((one) => one.length).join() }) }`)
  const id = await create()
  await until(home, id, (story) => story.status === 'awaiting_input')
  await platform.answer(id, 'q', { code: ANSWERED }, ACTOR)
  await until(home, id, (story) => story.status === 'running')
  await platform.pause(id)
  await platform.over(id)
  expect(storyOf(home, id).status).toBe('paused')
  expectNone(homeText())
  await platform.resume(id)
  await platform.over(id)
  expect(storyOf(home, id).output).toBe([ANSWERED.length, NAMED.length, GIVEN.length].join())
  expectNone(homeText())
})

test('a secret that is not set is refused at creation, with the command that sets it', async () => {
  await added('', { secrets: ['DEPLOY_KEY', 'OTHER'] })
  const refused = await create().catch((error: unknown) => error)
  expect(refused).toMatchObject({
    code: 'secret_missing',
    message: 'The resolver "plain" needs the secret OTHER, which is not set.',
    hint: 'Set it with "resolve secret set OTHER".',
  })
  expect((await platform.list()).records).toEqual([])
})

test('the model, its address and the token of a command reach a resolver by its config alone', async () => {
  const names = {
    RESOLVE_LLM_MODEL: 'acme/large',
    RESOLVE_LLM_BASE_URL: 'https://u:url-canary-1@llm.example.org/v1',
    RESOLVE_GIT_TOKEN_COMMAND: 'echo command-canary-token',
  }
  Object.assign(process.env, names)
  await added(`const { llm, git_provider, credentials } = me.config
    console.error(JSON.stringify([llm, git_provider]))
    me.finish({ status: 'completed', output: JSON.stringify([llm.model, new URL(llm.base_url).password.length, git_provider.token.length, credentials.git_host_token.length, Object.keys(process.env).filter((name) => /LLM|GIT/.test(name))]) })`)
  const id = await create()
  await platform.over(id)
  for (const name of Object.keys(names)) delete process.env[name]
  expect(storyOf(home, id).output).toBe(JSON.stringify(['acme/large', 12, 20, 20, []]))
  expectNone(homeText(), ['url-canary-1', 'command-canary-token'])
})

test('only named secrets are given, from a variable and from a command too; one whose command fails ends the run with the reason', async () => {
  process.env['CANARY_VARIABLE'] = ANSWERED
  await setSecret(home, 'FROM_ENV', { from: 'env', text: 'CANARY_VARIABLE' })
  await setSecret(home, 'FROM_COMMAND', { from: 'command', text: `printf '%s\\n' "$(printf from-command-canary)"` })
  await setSecret(home, 'UNNAMED', { from: 'value', text: GIVEN })
  const tell = `const { llm_provider_api_key: _, git_host_token: __, ...own } = me.config.credentials
    console.error(JSON.stringify(own))
    me.finish({ status: 'completed', output: JSON.stringify([Object.keys(own).sort(), own.FROM_ENV.length, own.FROM_COMMAND.length, Object.keys(process.env).filter((name) => /CANARY|FROM|KEY/.test(name))]) })`
  await added(tell, { secrets: ['FROM_ENV', 'FROM_COMMAND'] })
  const id = await create()
  await platform.over(id)
  delete process.env['CANARY_VARIABLE']
  expect(storyOf(home, id).output).toBe(JSON.stringify([['FROM_COMMAND', 'FROM_ENV'], ANSWERED.length, 19, []]))
  expectNone(homeText(), [ANSWERED, 'from-command-canary'])
  await setSecret(home, 'FROM_ENV', { from: 'value', text: 'eight-or-more' })
  await setSecret(home, 'FROM_COMMAND', { from: 'command', text: 'echo canary-of-failure; exit 3' })
  const failed = await create()
  await platform.over(failed)
  expect(storyOf(home, failed)).toMatchObject({
    status: 'failed',
    error: {
      code: 'secret_unavailable',
      detail: "Can't get the secret FROM_COMMAND: its command ended with exit code 3.",
    },
  })
})
