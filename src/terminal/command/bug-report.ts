/** A fault of ours leaves a report behind that can be sent along: what was run, where, and the whole stack. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

export interface BugContext {
  version: string
  /** The words of the command, without values: input may hold secrets. */
  command: string
}

/** Writes the report into the home's `reports/`, or the temp directory where that fails. Returns its path, or null for none. */
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
      // The next place; a report that cannot be written must not hide the fault itself.
    }
  }
  return null
}

/** The text with the token of RESOLVE_TOKEN blotted out, wherever it may have come from. */
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

/** The command's words and flag names, every value left out. */
export function withoutValues(commandId: string, argv: readonly string[]): string {
  const flags = argv.filter((word) => /^--?[a-z]/i.test(word)).map((word) => word.split('=')[0] ?? word)
  return [...commandId.split(':'), ...flags].join(' ')
}
