/** What a request gives wins over what is found, and what neither gives is a fault that says what to give (docs/reality-check.md). */
import { expect, test } from 'vitest'
import { faultOf, json, planOf } from './support.ts'

const node = { 'package.json': json({ scripts: { start: 'node a.js', build: 'tsc' }, dependencies: { a: '1' } }) }
const python = { 'requirements.txt': 'flask', 'app.py': 'from flask import Flask\napp = Flask(__name__)' }
const docker = {
  Dockerfile:
    'FROM golang AS b\nEXPOSE 1\nCMD ["x"]\nFROM debian\nARG P=9000\nEXPOSE $P/tcp\n# c\nENTRYPOINT ["/app", "it\'s"] \nCMD serve \\\n  --all\n',
}

test('commands and port of the request win, and are named as reasons', async () => {
  const given = { install: 'npm i', build: 'make', start: 'node b.js', port: 4242 }
  const plan = await planOf(node, given)
  expect(plan).toMatchObject({ language: 'node', fetch: null, port: 4242, port_given: true })
  expect([plan.install, plan.build, plan.start]).toEqual(
    ['npm i', 'make', 'node b.js'].map((command) => `export PATH="$PWD/node_modules/.bin:$PATH"; ${command}`),
  )
  expect(plan.because.slice(0, 4)).toEqual([
    'environment.install',
    'environment.build',
    'environment.start',
    'environment.port',
  ])
  expect(plan.env['PORT']).toBe('4242')
})

test('an empty command means that nothing is done', async () => {
  expect(await planOf(node, { install: '', build: ' ' })).toMatchObject({
    install: null,
    build: null,
    fetch: null,
    start: 'npm start',
  })
})

test('a given command wins over a Procfile, and that over the scripts', async () => {
  const files = { ...node, Procfile: 'web: node p.js' }
  expect((await planOf(files)).start).toMatch(/; node p\.js$/)
  expect((await planOf(files, { start: 'node b.js' })).start).toMatch(/; node b\.js$/)
})

test('a given install of Python finds a venv', async () => {
  expect((await planOf(python, { install: 'pip install flask' })).install).toBe(
    '[ -d .venv ] || python3 -m venv .venv; export PATH="$PWD/.venv/bin:$PATH"; pip install flask',
  )
})

test('the port that a given command names is the port, and a given variable wins', async () => {
  const plan = await planOf(node, { start: 'node a.js --port=5123', env: { DO_NOT_TRACK: '0' } })
  expect(plan).toMatchObject({ port: 5123, port_given: false })
  expect(plan.env).toMatchObject({ PORT: '5123', DO_NOT_TRACK: '0' })
})

test('a language picks its ecosystem; other names of it are known', async () => {
  const both = { ...node, ...python, 'index.html': '' }
  expect((await planOf(both)).language).toBe('python')
  expect((await planOf(both, { language: 'TypeScript' })).language).toBe('node')
  expect((await planOf(both, { language: 'html' })).language).toBe('static')
  expect(await faultOf(both, { language: 'cobol' })).toBe(
    'environment.language is "cobol": give node, python, go, rust, java, static, docker or none.',
  )
  expect(await faultOf(both, { language: 'constructor' })).toMatch(/^environment\.language is "constructor"/)
  expect(await faultOf(node, { language: 'go' })).toMatch(/no sign of it/)
})

test('a type decides whether something is started', async () => {
  expect(await planOf(node, { type: 'cli_tool' })).toMatchObject({ type: 'cli_tool', start: null, port: null })
  expect(await planOf(node, { type: 'REST API' })).toMatchObject({ type: 'api_service', start: 'npm start' })
  expect(await faultOf(node, { type: 'cli_tool', start: 'x' })).toMatch(/^environment\.type is cli_tool/)
  expect(await faultOf(node, { type: 'poem' })).toMatch(/give web_app, api_service, cli_tool or library/)
  expect(await faultOf({ 'pom.xml': '<project/>' }, { type: 'web_app' })).toMatch(/give environment\.start/)
})

test('a start command is enough where nothing is found', async () => {
  expect(await planOf({ 'run.sh': '' }, { start: 'sh run.sh' })).toMatchObject({
    language: 'none',
    type: 'api_service',
    port: null,
  })
  expect(await planOf({ 'run.rb': '' }, { language: 'none', start: 'ruby run.rb', port: 80 })).toMatchObject({
    port: 80,
  })
})

test('a directory below the root is looked at alone', async () => {
  const files = { 'index.html': '', 'packages/api/package.json': node['package.json'] }
  expect(await planOf(files, { workdir: './packages/api/' })).toMatchObject({
    workdir: 'packages/api',
    language: 'node',
  })
  expect(await faultOf(files, { workdir: 'packages/none' })).toMatch(/does not have/)
})

test.each(['../..', '/etc', 'a/../../b', 'a\nb', 'a\\b', 'a//b', 'a/./b', 'a\0'])(
  'the directory %j is refused',
  async (workdir) => {
    expect(await faultOf(node, { workdir })).toMatch(/^environment\.workdir leads out/)
  },
)

test('a Dockerfile is used only where it is allowed and nothing else is there', async () => {
  expect(await faultOf(docker)).toMatch(/^Only its Dockerfile/)
  expect(await planOf(docker, {}, { dockerfile: true })).toMatchObject({
    language: 'docker',
    start: `/app 'it'\\''s' serve    --all`,
    port: 9000,
  })
  expect((await planOf({ ...docker, ...node }, {}, { dockerfile: true })).language).toBe('node')
  expect((await planOf({ ...docker, ...node }, { language: 'docker' }, { dockerfile: true })).language).toBe('docker')
  expect(await faultOf({ Dockerfile: 'FROM nginx' }, {}, { dockerfile: true })).toMatch(/no CMD/)
})

test('several things that could be started are a fault that names them', async () => {
  expect(await faultOf({ 'api/go.mod': '', 'web/package.json': '{}' })).toBe(
    'Several directories can be started (api, web): give environment.workdir.',
  )
  const start = json({ scripts: { start: 'x' } })
  const files = {
    'package.json': json({ workspaces: ['apps/*'] }),
    'apps/a/package.json': start,
    'apps/b/package.json': start,
  }
  expect(await faultOf(files)).toMatch(/\(apps\/a, apps\/b\)/)
})

test('nothing to run is a fault that says what to give', async () => {
  for (const files of [{}, { 'README.md': '' }, { 'package.json': '{}' }, { 'requirements.txt': 'flask' }])
    expect(await faultOf(files)).toMatch(/^Nothing in the software says how it is started: give/)
})

test('without a lock of npm the first stage asks for what the install asks for later', async () => {
  const { fetch } = await planOf(node)
  const npm = '--cache "$RESOLVE_CACHE/npm" --no-audit --no-fund'
  expect(fetch?.command.split(' && ')).toEqual([
    `npm install --package-lock-only --ignore-scripts ${npm}`,
    `npm ci --ignore-scripts ${npm}`,
    'cp package-lock.json "$RESOLVE_CACHE/package-lock.json"',
  ])
})
