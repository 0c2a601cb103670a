/**
 * A helper of a local worker: a child process of the host with the marks of the worker, so that what ends the worker ends it too. Its stdin is
 * a pipe, so it ends with its host. {@link file://./local.ts} starts it.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { fail, systemCode } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import type { Helper, HelperPlan } from '../worker.ts'
import { ChildChannel } from './child-channel.ts'
import { workerEnvironment } from './environment.ts'
import { openToHold, stdioWithLifeline } from './lifeline.ts'

const PIPES = ['pipe', 'pipe', 'pipe'] as const

/** Throws `launch_failed`. */
export async function startHelperProcess(
  plan: HelperPlan,
  worker: { resolveDirectory: string; lifeline: string },
): Promise<Helper> {
  const refuse = (reason: string, cause?: unknown) =>
    fail('launch_failed', { command: plan.program, reason }, { cause })
  const program = installedFile(plan.program)
  if (program === undefined) throw refuse('this program of the platform is not built')
  const { resolveDirectory } = worker
  // It is no resolver: it needs no SDK.
  const { NODE_OPTIONS: _, ...environment } = workerEnvironment({
    resolveDirectory,
    added: plan.environment,
    tools: plan.tools,
  })
  const lifeline = openToHold(worker.lifeline)
  let child: ChildProcessWithoutNullStreams
  try {
    child = spawn(process.execPath, [program], {
      cwd: plan.directory,
      env: { ...environment, RESOLVE_HELPER: plan.mark },
      detached: true,
      stdio: lifeline === undefined ? [...PIPES] : stdioWithLifeline(PIPES, lifeline),
    }) as ChildProcessWithoutNullStreams
  } finally {
    if (lifeline !== undefined) closeSync(lifeline)
  }
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal === null ? `it ended with code ${code}` : `${signal} ended it`))
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.on('error', (error) => reject(refuse(systemCode(error) ?? 'it cannot be started', error)))
  })
  child.stderr.on('data', plan.onStderr)
  // A host that releases its worker does not wait for it.
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as Socket).unref()
  return { channel: new ChildChannel(child), ended }
}
