/**
 * Makes the FIFOs of a local worker: its stdin and its lifeline. Node cannot make one, so `mkfifo` does, once for all callers that wait.
 * Creation has them made while it waits for the disk; a launch that does not find them makes them itself.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { fail } from '../../errors.ts'

/** Makes a fresh FIFO at each path, in place of what is there. Throws `launch_failed`. */
export async function makeFifos(paths: readonly string[]): Promise<void> {
  for (const path of paths) rmSync(path, { force: true })
  const trouble = await makeTogether(paths)
  // The paths of other callers may have failed.
  if (!areFifos(paths)) throw fail('launch_failed', { command: 'mkfifo', reason: trouble ?? 'it made none' })
}

export function areFifos(paths: readonly string[]): boolean {
  return paths.every((path) => lstatSync(path, { throwIfNoEntry: false })?.isFIFO() === true)
}

/** Why not all FIFOs were made; undefined where all were. */
type Trouble = string | undefined

let running: Promise<Trouble> | undefined
/** The call after the running one, which makes the FIFOs of all that came meanwhile. */
let next: { paths: string[]; made: Promise<Trouble> } | undefined

function makeTogether(paths: readonly string[]): Promise<Trouble> {
  if (running === undefined) return start(paths)
  next ??= following(running)
  next.paths.push(...paths)
  return next.made
}

function following(before: Promise<Trouble>): NonNullable<typeof next> {
  const paths: string[] = []
  const made = before.then(() => {
    next = undefined
    return start(paths)
  })
  return { paths, made }
}

function start(paths: readonly string[]): Promise<Trouble> {
  const made = mkfifo(paths)
  running = made
  void made.then(() => {
    if (running === made) running = undefined
  })
  return made
}

async function mkfifo(paths: readonly string[]): Promise<Trouble> {
  try {
    const [code] = await once(spawn('mkfifo', ['-m', '600', ...paths], { stdio: 'ignore' }), 'exit')
    return code === 0 ? undefined : `it ended with code ${code}`
  } catch {
    return 'it cannot be started'
  }
}
