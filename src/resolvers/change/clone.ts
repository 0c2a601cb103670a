/** The few git commands that the resolver runs in its clone. */
import { runProgram } from './run-program.ts'

function git(clone: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  return runProgram('git', args, { cwd: clone, signal })
}

/** Returns the id of the new commit. */
export async function commitAll(clone: string, file: string, title: string, signal: AbortSignal): Promise<string> {
  await git(clone, ['add', '--', `:(literal)${file}`], signal)
  await git(clone, ['commit', '--quiet', '--no-verify', '-m', title], signal)
  return (await git(clone, ['rev-parse', 'HEAD'], signal)).trim()
}

/** The last commit, as `git am` reads it. */
export function patchOf(clone: string, signal: AbortSignal): Promise<string> {
  return git(clone, ['format-patch', '-1', '--stdout', '--no-signature'], signal)
}

export async function originOf(clone: string, signal: AbortSignal): Promise<string> {
  return (await git(clone, ['remote', 'get-url', 'origin'], signal)).trim()
}
