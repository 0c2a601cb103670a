/** How tests run: real processes and real files, a home directory that is never the person's own. */
import { defineConfig } from 'vitest/config'

const inCi = process.env['CI'] !== undefined && process.env['CI'] !== ''

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/house/temporary-home.ts', 'test/house/docker-engine.ts'],
    pool: 'forks',
    // One more than the cores it is made for: many of these wait, for a minute's silence or a worker that will not end.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // What is waited for often is a process, which takes its time beside others.
    expect: { poll: { timeout: 15_000 } },
    // In CI the figures are also written down, for the closing line of .ci/run.
    ...(inCi ? { reporters: ['default', 'json'], outputFile: { json: 'coverage/test-results.json' } } : {}),
  },
})
