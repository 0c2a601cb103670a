/** How tests run: real processes, real files, and a temporary home directory. */
import { defineConfig } from 'vitest/config'

const inCi = process.env['CI'] !== undefined && process.env['CI'] !== ''

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/house/temporary-home.ts', 'test/house/docker-engine.ts'],
    pool: 'forks',
    // One more worker than CI has cores, because many tests wait.
    maxWorkers: 3,
    // These end what hangs, and say nothing about speed: a test that runs twenty commands takes 10 s on a quiet machine, and 40 s beside others.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000 } },
    // In CI the figures are also written to a file, for the closing line of .ci/run.
    ...(inCi ? { reporters: ['default', 'json'], outputFile: { json: 'coverage/test-results.json' } } : {}),
  },
})
