/** Holds what is published, and what each program loads when it starts. Reads dist/, so it needs a build. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { builtinModules, createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { publint } from 'publint'
import { expect, test } from 'vitest'
import { root } from './source-files.ts'

const dist = join(root, 'dist')

test('the package holds the program, its resolvers and its pages, and no tests or sources', () => {
  const files = packedFiles()
  for (const file of [
    'bin/run.js',
    'dist/cli/main.js',
    'dist/host.js',
    'dist/git-server.js',
    'templates/validator/Dockerfile',
    'templates/worker/bin/create-pr',
    'templates/worker/bin/git-credential-resolve',
    'dist/sdk/index.js',
    'dist/sdk/register.js',
    'dist/sdk/session-helper.js',
    'templates/python-sessions/resolver.py',
    'dist/core/index.js',
  ]) {
    expect(files).toContain(file)
  }
  for (const name of ['agent', 'change', 'hello', 'tour'])
    expect(files).toContain(`dist/resolvers/${name}/manifest.json`)
  expect(files).toContain('dist/resolvers/agent/example.json')
  expect(files).toContain('dist/types/sdk/index.d.ts')
  expect(
    files.filter((file) =>
      /^(?:src|test|scripts|tools|coverage|node_modules)\/|\.test\.|\.stamp$|^bin\/dev/.test(file),
    ),
  ).toEqual([])
})

test('publint reports nothing', async () => {
  const { messages } = await publint({ pkgDir: root, strict: true, pack: false })
  expect(messages).toEqual([])
})

test('the SDK loads nothing but Node and its own parts', () => {
  for (const entry of ['sdk/index.js', 'sdk/register.js'])
    expect({ entry, others: strangersOf(entry) }).toEqual({ entry, others: [] })
})

test('the SDK loads no module of Node before it uses it', () => {
  const program = `await import(${JSON.stringify(join(dist, 'sdk/index.js'))}); console.log(process.moduleLoadList.join())`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const loaded = stdout.split(',').map((name) => name.replace('NativeModule ', ''))
  expect(loaded).toContain('fs')
  expect(
    loaded.filter((name) => /^(crypto|fs\/promises|internal\/fs\/promises|stream|perf_hooks)$/.test(name)),
  ).toEqual([])
})

test('a list loads no HTTP, and so not the fetch of Node, and no compression', () => {
  const home = mkdtempSync(join(tmpdir(), 'resolve-list-'))
  const last = "data:text/javascript,process.on('exit',()=>console.error(process.moduleLoadList.join()))"
  const env = { ...process.env, RESOLVE_HOME: home, NODE_COMPILE_CACHE: '' }
  const args = ['--import', last, join(root, 'bin/run.js'), 'instance', 'list']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
  rmSync(home, { recursive: true, force: true })
  expect(status).toBe(0)
  const loaded = stderr.split(',').map((name) => name.replace('NativeModule ', ''))
  expect(loaded).toContain('fs')
  expect(loaded.filter((name) => /^(https?|zlib|internal\/deps\/undici\/undici)$/.test(name))).toEqual([])
})

test('a resolver without LLM sessions loads no client of a model; the part with them is there', () => {
  const clients = /^ *\/\/ node_modules\/(?:ai|@ai-sdk|zod|@pydantic)\//m
  const holders = (files: readonly string[]) => files.filter((file) => clients.test(readFileSync(file, 'utf8')))
  for (const entry of ['sdk/index.js', 'sdk/register.js', 'resolvers/hello/resolver.js'])
    expect({ entry, clients: holders(loadedAtStart(entry)) }).toEqual({ entry, clients: [] })
  expect(holders(reachedFrom('sdk/index.js', [STATIC, DYNAMIC])).length).toBeGreaterThan(0)
})

test('a built-in resolver is one file that names the SDK: a container mounts its folder alone', () => {
  for (const name of readdirSync(join(dist, 'resolvers'))) {
    const entry = `resolvers/${name}/resolver.js`
    const all = specifiersOf(join(dist, entry), [STATIC, DYNAMIC])
    const imported = [...new Set(all.filter((one) => !one.startsWith('node:')))]
    expect({ entry, imported }).toEqual({ entry, imported: ['resolve-platform/sdk'] })
  }
})

test('no program needs node_modules: every dependency is bundled', () => {
  for (const entry of ['cli/main.js', 'core/index.js', 'host.js', 'git-server.js'])
    expect({ entry, others: strangersOf(entry) }).toEqual({ entry, others: [] })
})

test('Ink and React are loaded by no program at its start', () => {
  for (const entry of ['cli/main.js', 'core/index.js', 'host.js', 'sdk/index.js']) {
    expect({ entry, heavy: heavyOf(entry) }).toEqual({ entry, heavy: [] })
  }
})

test('no command loads Ink or React before something is drawn', () => {
  const parts = readdirSync(join(dist, 'parts')).map((file) => `parts/${file}`)
  for (const command of commandNames()) {
    // The part of a command bears the name of its file.
    const own = parts.filter((file) => file.replace(/^parts\/(.*)-[A-Z0-9]{8}\.js$/, '$1') === command)
    expect({ command, found: own.length > 0 }).toEqual({ command, found: true })
    for (const entry of own) expect({ command, heavy: heavyOf(entry) }).toEqual({ command, heavy: [] })
  }
})

test('commands that run often load neither Ink nor Docker, at the start or later', () => {
  const home = mkdtempSync(join(tmpdir(), 'resolve-start-'))
  const often = [
    '--version',
    '--help',
    'help run',
    'instance list',
    'instance list --json',
    'resolver list',
    'run hello -i name=Ada --json',
  ]
  for (const words of often) {
    const env = { ...process.env, RESOLVE_HOME: home, NODE_OPTIONS: `--import=${NOTES_LOADED}` }
    const { stderr } = spawnSync(process.execPath, [join(root, 'bin', 'run.js'), ...words.split(' ')], {
      env,
      encoding: 'utf8',
    })
    const loaded = [...stderr.matchAll(/^loaded file:\/\/(.*)$/gm)].map(([, path]) => path ?? '')
    expect({ words, sees: loaded.some((file) => file.endsWith('/bin/run.js')) }).toEqual({ words, sees: true })
    expect({ words, heavy: loaded.filter((file) => HEAVY.test(readFileSync(file, 'utf8'))) }).toEqual({
      words,
      heavy: [],
    })
    if (words === '--version') expect(loaded.filter((file) => file.startsWith(dist))).toEqual([])
  }
  rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

test('nothing of oclif is left out, and each of its modules is loaded at its first use', () => {
  const modules = readdirSync(join(dist, 'parts')).flatMap((file) =>
    readFileSync(join(dist, 'parts', file), 'utf8').split(/^(?=\/\/ )/m),
  )
  const oclif = modules.filter((text) => text.startsWith('// node_modules/@oclif/core/lib/'))
  const names = oclif.map((text) => text.slice('// node_modules/@oclif/core/lib/'.length, text.indexOf('\n')))
  expect(names).toEqual(expect.arrayContaining(['command.js', 'config/plugin.js', 'help/index.js', 'errors/handle.js']))
  expect(modules.filter((text) => /^\/\/ left-out-of-oclif/.test(text))).toEqual([])
  const atOnce = /^ +var (?:\w+_\d+|Errors|Parser) = (?:__import\w+\()?(?:__)?require\w*\(/m
  expect(oclif.filter((text) => atOnce.test(text))).toEqual([])
})

test('packages that oclif needs for few commands are whole, in files that no other command reads', () => {
  const late = readdirSync(join(dist, 'late'))
  expect(late.toSorted()).toEqual(['cli-spinners.cjs', 'ejs.cjs', 'lilconfig.cjs', 'minimatch.cjs', 'tinyglobby.cjs'])
  const load = createRequire(join(root, 'node_modules', '@oclif', 'core', 'package.json'))
  const namesIn = (path: string) => Object.keys(load(path) as object).toSorted()
  for (const file of late) expect(namesIn(join(dist, 'late', file))).toEqual(namesIn(file.replace('.cjs', '')))
  const parts = readdirSync(join(dist, 'parts')).map((file) => readFileSync(join(dist, 'parts', file), 'utf8'))
  const asked = parts.flatMap((text) =>
    [...text.matchAll(/require\w*\("\.\.\/late\/([\w.-]+)"\)/g)].map(([, file]) => file),
  )
  expect([...new Set(asked)].toSorted()).toEqual(late.toSorted())
})

test('oclif prints what it does where DEBUG is set', () => {
  const home = mkdtempSync(join(tmpdir(), 'resolve-debug-'))
  const debugOf = (DEBUG: string | undefined) => {
    const env = { ...process.env, RESOLVE_HOME: home, DEBUG }
    const words = [join(root, 'bin', 'run.js'), 'instance', 'list']
    const { status, stderr } = spawnSync(process.execPath, words, { env, encoding: 'utf8' })
    return { status, prints: stderr.includes('oclif:') }
  }
  expect(debugOf(undefined)).toMatchObject({ status: 0, prints: false })
  expect(debugOf('oclif*')).toMatchObject({ status: 0, prints: true })
  rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

test('compiled code is cached for the next start', () => {
  const cache = mkdtempSync(join(tmpdir(), 'resolve-cache-'))
  const env = {
    ...process.env,
    XDG_CACHE_HOME: cache,
    NODE_COMPILE_CACHE: undefined,
    RESOLVE_HOME: join(cache, 'home'),
  }
  const { status } = spawnSync(process.execPath, [join(root, 'bin', 'run.js'), 'instance', 'list', '--json'], { env })
  expect(status).toBe(0)
  expect(readdirSync(join(cache, 'resolve', 'compiled'), { recursive: true }).length).toBeGreaterThan(2)
  rmSync(cache, { recursive: true, force: true })
})

test('the licences of bundled packages are listed', () => {
  const notices = readFileSync(join(dist, 'NOTICES.txt'), 'utf8')
  for (const name of ['@oclif/core', 'ink', 'react', 'ajv', 'chokidar'])
    expect(notices).toMatch(new RegExp(`^${name} \\d`, 'm'))
})

function packedFiles(): string[] {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const packed = JSON.parse(output) as { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>
  return Object.values(packed).flatMap(({ files }) => files.map(({ path }) => path))
}

const STATIC = /^(?:import|export)\b[^'"\n]*?(?:\bfrom\s*)?["']([^"'\n]+)["'];?$|^\} from ["']([^"'\n]+)["'];?$/gm
const DYNAMIC = /\bimport\(\s*["']([^"'\n]+)["']\s*\)/g

function specifiersOf(file: string, patterns: readonly RegExp[]): string[] {
  const text = readFileSync(file, 'utf8')
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? ''))
}

/** The files of dist that are reached from an entry by the imports that the patterns find. */
function reachedFrom(entry: string, patterns: readonly RegExp[]): string[] {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file) || !existsSync(file)) return
    reached.add(file)
    for (const specifier of specifiersOf(file, patterns))
      if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier))
  }
  visit(join(dist, entry))
  return [...reached]
}

function commandNames(): string[] {
  const files = readdirSync(join(root, 'src', 'commands'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.includes(sep) && /\.tsx?$/.test(file))
    .map((file) => basename(file).replace(/\.tsx?$/, ''))
}

/** Which files with code of Ink or React are loaded together with an entry. */
function heavyOf(entry: string): string[] {
  const isHeavy = (file: string) => HEAVY.test(readFileSync(file, 'utf8'))
  return loadedAtStart(entry)
    .filter(isHeavy)
    .map((file) => relative(dist, file))
}

/** As esbuild names the modules it takes in. */
const HEAVY = /^ *\/\/ node_modules\/(?:ink|react|react-reconciler|yoga-layout|dockerode|docker-modem)\//m

/** Loaded first, it says every file that is loaded after it, also by a late import. */
const NOTES_LOADED =
  "data:text/javascript,import{registerHooks}from'node:module';import{writeSync}from'node:fs';registerHooks({load:(url,context,next)=>{writeSync(2,'loaded%20'+url+'\\n');return%20next(url,context)}})"

function loadedAtStart(entry: string): string[] {
  const files = reachedFrom(entry, [STATIC])
  expect(files.length).toBeGreaterThan(0)
  return files
}

/** What is imported by name, early or late, and is not a module of Node. */
function strangersOf(entry: string): string[] {
  const files = reachedFrom(entry, [STATIC, DYNAMIC])
  expect(files.length).toBeGreaterThan(0)
  const named = files
    .flatMap((file) => specifiersOf(file, [STATIC, DYNAMIC]))
    .filter((specifier) => !specifier.startsWith('.'))
  const isNode = (specifier: string) => specifier.startsWith('node:') || builtinModules.includes(specifier)
  return [...new Set(named.filter((specifier) => !isNode(specifier)))]
}
