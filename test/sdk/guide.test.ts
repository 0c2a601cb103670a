/** docs/writing-a-resolver.md against the real thing: its first resolver runs, its samples stand in the fixtures. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fixture, ResolverProcess, registered } from './harness.ts'

const guide = readFileSync(new URL('../../docs/writing-a-resolver.md', import.meta.url), 'utf8')

const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code = '']) => code)

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
  ['python', 'python-plain/resolver.py', 4],
  ['bash', 'bash-plain/resolver.sh', 2],
])('every %s sample is a part of the fixture that is tested', (language, path, count) => {
  const program = readFileSync(fixture(path), 'utf8')
  const samples = blocks(language)
  expect(samples).toHaveLength(count)
  for (const sample of samples) expect(program).toContain(sample)
})
