/** What a look at all processes remembers of them is never less than what they carry. */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { scanProcesses } from '../../src/core/worker/local/process-table.ts'

test.runIf(process.platform === 'linux')(
  'a process whose environment could not be read is read again at the next look',
  { timeout: 90_000 },
  async ({ onTestFinished }) => {
    const mark = `RESOLVE_DIR=/nowhere/${process.pid}-${Date.now()}`
    // As it is for a moment while a process becomes another program; here for as long as is needed.
    const child = spawn('/bin/sh', ['-c', `read go; exec /usr/bin/env ${mark} sleep 60`], {
      env: {},
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    // Old enough to be remembered.
    await sleep(5_500)
    expect(scanProcesses().marked.get(mark)).toBeUndefined()
    child.stdin.write('go\n')
    await expect.poll(() => scanProcesses().marked.get(mark)).toEqual([child.pid])
  },
)
