/** Runs a program in a directory and gives what it prints. */
import { execFile } from 'node:child_process'

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024

export interface Run {
  cwd: string
  signal: AbortSignal
  /** By default that of this process. */
  env?: NodeJS.ProcessEnv
}

/** Rejects with an error that has the program's `stderr`. */
export function runProgram(program: string, args: readonly string[], run: Run): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, [...args], { ...run, maxBuffer: OUTPUT_MAX_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(Object.assign(error, { stderr }))
    })
  })
}
