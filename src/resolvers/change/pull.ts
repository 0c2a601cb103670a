/** Opens the pull request with `create-pr`, which the platform puts into the PATH of workers with a git server. */
import { runProgram } from './run-program.ts'

interface Wanted {
  title: string
  body: string
  /** The host opens it at the upstream too. */
  isPromoted: boolean
}

export type Pull = { url: string } | { problem: string }

export async function createPull(
  clone: string,
  { title, body, isPromoted }: Wanted,
  signal: AbortSignal,
): Promise<Pull> {
  const args = ['--title', title, '--body', body, ...(isPromoted ? ['--promote'] : [])]
  try {
    return { url: (await runProgram('create-pr', args, { cwd: clone, signal })).trim() }
  } catch (error) {
    signal.throwIfAborted()
    const { stderr = '', message } = error as Error & { stderr?: string }
    return { problem: stderr.trim() || message }
  }
}
