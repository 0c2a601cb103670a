/** Runs a command of the operator whose output is a secret: of a named secret, or RESOLVE_GIT_TOKEN_COMMAND (R55). */
import { execFile } from 'node:child_process'
import { SECRET_COMMAND_LIMIT_MS, SECRET_VALUE_MAX_BYTES } from '../limits.ts'

export type CommandOutcome = { value: string } | { reason: string }

/**
 * The first output of `sh -c`, without its last newline. Neither the output nor the command is ever part of the reason, because both
 * may hold the secret.
 */
export function runSecretCommand(command: string, signal?: AbortSignal): Promise<CommandOutcome> {
  return new Promise((resolve) => {
    const options = {
      timeout: SECRET_COMMAND_LIMIT_MS,
      killSignal: 'SIGKILL' as const,
      maxBuffer: SECRET_VALUE_MAX_BYTES,
      encoding: 'utf8' as const,
      ...(signal === undefined ? {} : { signal }),
    }
    const child = execFile('/bin/sh', ['-c', command], options, (error, stdout) => {
      const value = stdout.replace(/\r?\n$/, '')
      if (error === null) resolve(value === '' ? { reason: 'its command printed nothing' } : { value })
      else resolve({ reason: reasonOf(error) })
    })
    child.stdin?.end()
  })
}

function reasonOf({ killed, code }: { killed?: boolean; code?: unknown }): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'its command printed too much'
  if (killed) return `its command did not end within ${SECRET_COMMAND_LIMIT_MS / 1_000} s`
  return typeof code === 'number' ? `its command ended with exit code ${code}` : "its command can't be run"
}
