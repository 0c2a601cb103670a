/** docs/writing-a-resolver.md against the real thing: its first resolver runs, its samples stand in the fixtures. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { fixture, ResolverProcess, registered } from './harness.ts'

const guide = readFileSync(new URL('../../docs/writing-a-resolver.md', import.meta.url), 'utf8')

const sessions = readFileSync(new URL('../../docs/sessions.md', import.meta.url), 'utf8')

const blocks = (language: string, page = guide) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code = '']) => code)

test('two files in an empty folder are a resolver', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'resolve-guide-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'manifest.json'), blocks('json')[0] ?? '')
  writeFileSync(join(cwd, 'resolver.ts'), blocks('ts')[0] ?? '')
  const options = { command: ['node', 'resolver.ts'], cwd, name: 'counter', params: { to: '2' }, env: registered() }
  const resolver = new ResolverProcess(options)
  await resolver.start()
  await resolver.untilRequest('again')
  await resolver.answer('again', { again: true })
  expect(await resolver.result()).toMatchObject({ status: 'completed', output: 'Counted to 2' })
  expect(resolver.read('data/numbers.txt')).toBe('2…1\n')
  expect(resolver.event('resolver:created')?.data).toMatchObject({
    resolver_name: 'counter',
    resolver_version: '1.0.0',
  })
})

test.each([
  ['python', 'python-plain', ['manifest.json', 'resolver.py']],
  ['bash', 'bash-plain', ['manifest.json', 'resolver.sh']],
  ['python-sessions', 'python-sessions', ['manifest.json', 'resolver.py']],
])('the %s template of the package is the whole program that is tested', (language, name, files) => {
  for (const file of files) {
    const template = new URL(`../../templates/${language}/${file}`, import.meta.url)
    expect(readFileSync(template, 'utf8')).toBe(readFileSync(fixture(`${name}/${file}`), 'utf8'))
  }
})

test('the resolver and the fields of the guide pass the strict checks of TypeScript after its recipe', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const cwd = mkdtempSync(join(tmpdir(), 'resolve-author-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  const packages = join(cwd, 'node_modules')
  mkdirSync(join(packages, '@types'), { recursive: true })
  symlinkSync(root, join(packages, 'resolve-platform'))
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(packages, name))
  copyFileSync(join(root, 'templates/typescript/tsconfig.json'), join(cwd, 'tsconfig.json'))
  const recipe = blocks('sh').find((block) => block.includes('npx tsc')) ?? ''
  // The installation needs a registry; what it would install is linked above.
  const steps = recipe.split('\n').filter((line) => /^npm (?:init|pkg) /.test(line))
  expect(steps).not.toEqual([])
  for (const step of steps) expect(spawnSync('sh', ['-c', step], { cwd }).status).toBe(0)
  writeFileSync(join(cwd, 'resolver.ts'), blocks('ts')[0] ?? '')
  const fields = blocks('ts').find((block) => block.includes('secret: true')) ?? ''
  const program = `import { resolver, select, text } from 'resolve-platform/sdk'
export default resolver({ ${fields} run: ({ params: { region, size, token } }) => {
  const typed: ['north' | 'south', 1 | 2, string] = [region, size, token]
  return String(typed.length)
} })`
  writeFileSync(join(cwd, 'fields.ts'), program)
  const tsc = join(root, 'node_modules/.bin/tsc')
  const { stdout, status } = spawnSync(tsc, ['-p', '.'], { cwd, encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})

test.each([
  ['python', 'python-plain/resolver.py', 4, guide],
  ['bash', 'bash-plain/resolver.sh', 2, guide],
  ['python', 'python-sessions/resolver.py', 4, sessions],
])('every %s sample is a part of the fixture %s that is tested', (language, path, count, page) => {
  const program = readFileSync(fixture(path), 'utf8')
  const samples = blocks(language, page)
  expect(samples).toHaveLength(count)
  for (const sample of samples) expect(program).toContain(sample)
})
