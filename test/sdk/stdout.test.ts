/** stdout is the channel: whatever a resolver prints goes to stderr, from its first import on (spec, serve(); R41). */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type LaunchOptions, launchFixture, launchSample, ResolverProcess, registered } from './harness.ts'

const early = fileURLToPath(new URL('resolvers/prints-early.mjs', import.meta.url))

const launchEarly = (options: Partial<LaunchOptions> = {}) =>
  new ResolverProcess({ command: ['node', early], name: 'prints-early', env: registered(), ...options })

const onlyFrames = (resolver: ResolverProcess) => {
  for (const line of resolver.lines) expect(JSON.parse(line)).toHaveProperty('jsonrpc', '2.0')
}

// verifies: S-SDK-01 S-SVC-04
test('what is printed before the SDK is even loaded goes to stderr', async () => {
  const resolver = launchEarly()
  await resolver.start()
  await resolver.result()
  onlyFrames(resolver)
  await resolver.until('the prints', () => (resolver.stderr.includes('late print') ? true : undefined))
  expect(resolver.stderr).toContain('early print')
  expect(resolver.stderr).toContain('early write')
})

test('node processes that a resolver starts write to stdout as usual', async () => {
  const resolver = launchEarly()
  await resolver.start()
  expect((await resolver.untilEvent('prints-early.child')).data).toEqual({ printed: 'grandchild\n' })
})

test('node processes under a resolver of another language write to stdout as usual', async () => {
  const script = 'got=$(node -p 1+1); echo "got $got" >&2; read -r line'
  const resolver = new ResolverProcess({ command: ['bash', '-c', script], name: 'shell', env: registered() })
  await resolver.until('what it got', () => (resolver.stderr.includes('got 2') ? true : undefined))
})

test('serve() redirects stdout if nothing did before', async () => {
  const resolver = launchSample('scenarios', { params: { scenario: 'prints' } })
  await resolver.start()
  await resolver.result()
  onlyFrames(resolver)
  await resolver.until('both prints', () => (resolver.stderr.includes('from process.stdout') ? true : undefined))
  expect(resolver.stderr).toContain('from console.log')
})

test('the stdout of a node process without a channel is not redirected', () => {
  const { PATH = '' } = process.env
  const env = { PATH, ...registered() }
  expect(execFileSync(process.execPath, ['-e', 'console.log("plain")'], { env, encoding: 'utf8' })).toBe('plain\n')
})

test('one TypeScript file without a node_modules finds the SDK', async () => {
  const resolver = launchFixture('single-file-ts', { params: { left: '1', right: '2' } })
  await resolver.start()
  expect(await resolver.result()).toMatchObject({ status: 'completed', output: '1 + 2 = 3' })
})
