/** Writes a report about a bug in resolve: the command, the environment and the stack. Called by report-error.ts. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

export interface BugContext {
  version: string
  /** The command and its flag names, without values: input may contain secrets. */
  command: string
}

/** Writes the report to `reports/` in the home, or to the temp directory if that fails. Returns its path; null if both fail. */
export async function writeBugReport(error: unknown, context: BugContext): Promise<string | null> {
  const name = `bug-${new Date().toISOString().replaceAll(':', '-')}-${process.pid}.txt`
  const text = [
    `resolve ${context.version}, Node ${process.version}, ${process.platform} ${process.arch}`,
    `command: ${context.command}`,
    `at: ${new Date().toISOString()}`,
    '',
    withoutToken(inspect(error, { depth: 6 })),
    '',
  ].join('\n')
  for (const directory of [await reportsDirectory(), tmpdir()]) {
    if (directory === null) continue
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      writeFileSync(join(directory, name), text, { flag: 'wx', mode: 0o600 })
      return join(directory, name)
    } catch {
      // Tries the next directory; a failure to write the report must not hide the bug itself.
    }
  }
  return null
}

/** The text with every occurrence of the token in RESOLVE_TOKEN replaced by `[token]`. */
export function withoutToken(text: string, env: NodeJS.ProcessEnv = process.env): string {
  const token = env['RESOLVE_TOKEN']?.trim() ?? ''
  return token === '' ? text : text.replaceAll(token, '[token]')
}

async function reportsDirectory(): Promise<string | null> {
  try {
    const { homeDirectory } = await import('../../core/index.ts')
    return join(homeDirectory(process.env), 'reports')
  } catch {
    return null
  }
}

/** The command's words and flag names, without any values. */
export function withoutValues(commandId: string, argv: readonly string[]): string {
  const flags = argv.filter((word) => /^--?[a-z]/i.test(word)).map((word) => word.split('=')[0] ?? word)
  return [...commandId.split(':'), ...flags].join(' ')
}
