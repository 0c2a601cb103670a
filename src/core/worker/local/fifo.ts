/**
 * Makes the FIFOs of a local worker: its stdin and its lifeline. Node cannot make one, so one call of `mkfifo` makes both. Creation has
 * them made while it waits for the disk; a launch that does not find them makes them itself.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { fail } from '../../errors.ts'

/** Makes a fresh FIFO at each path, in place of what is there. Throws `launch_failed`. */
export async function makeFifos(paths: readonly string[]): Promise<void> {
  for (const path of paths) rmSync(path, { force: true })
  const child = spawn('mkfifo', ['-m', '600', ...paths], { stdio: 'ignore' })
  const [code] = await once(child, 'exit').catch((error: unknown) => {
    throw fail('launch_failed', { command: 'mkfifo', reason: 'it cannot be started' }, { cause: error })
  })
  if (code !== 0) throw fail('launch_failed', { command: 'mkfifo', reason: `it ended with code ${code}` })
}

export function areFifos(paths: readonly string[]): boolean {
  return paths.every((path) => lstatSync(path, { throwIfNoEntry: false })?.isFIFO() === true)
}
