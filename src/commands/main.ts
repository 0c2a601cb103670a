/** The program behind bin/run.js: finds the command in the arguments, runs it, and ends the process with its exit code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../core/errors.ts'
import { nearest } from '../core/primitives/nearest.ts'
import { socketApi } from '../server/socket-api.ts'
import { FLAGS_BEFORE } from '../terminal/command/flags-before.ts'
import { reportError } from '../terminal/command/report-error.ts'
import { CommandError, usage } from '../terminal/output/command-error.ts'
import { endQuietlyOnClosedPipe, flushed, outputFrom } from '../terminal/output/output.ts'
import { setSurroundings, surroundings } from '../terminal/output/surroundings.ts'
import { findCommand } from './find-command.ts'
import { COMMANDS, type CommandClass, NOUNS } from './index.ts'
import { meantCommands } from './meant-command.ts'

/** `root` is the directory of package.json. Flushes stdout, then ends the process. */
export async function main(argv: string[], root: string): Promise<void> {
  endQuietlyOnClosedPipe()
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  setSurroundings({ root, version, socketApi })
  let code: number
  try {
    code = await dispatch(argv)
  } catch (error) {
    const debug = argv.includes('--debug')
    code = await reportError(outputFrom(argv), error, { version, command: '', debug })
  }
  await flushed()
  process.exit(code)
}

async function dispatch(argv: string[]): Promise<number> {
  if (argv[0] === '__complete') return await (await import('./complete.ts')).printCompletions(argv.slice(1))
  const found = findCommand(argv)
  switch (found.kind) {
    case 'version':
      return await printVersion(argv)
    case 'help':
      return await (await import('./help.ts')).printHelp(argv, found)
    case 'overview':
      return await runCommand((await import('./overview.ts')).default, 'overview', found.rest)
    case 'unknown':
      throw unknownCommand(found.words)
    case 'unknown flag':
      throw unknownFlag(found.flag, found.noun)
    case 'command': {
      const load = COMMANDS[found.id]
      if (load === undefined) throw unknownCommand(found.id.split(':'))
      return await runCommand((await load()).default, found.id, found.rest)
    }
  }
}

async function runCommand(CommandClass: CommandClass, id: string, rest: string[]): Promise<number> {
  CommandClass.id = id
  return await new CommandClass(rest).runToEnd()
}

async function printVersion(argv: string[]): Promise<number> {
  const { version } = surroundings()
  const output = outputFrom(argv)
  if (output.json) await output.document({ schema: 'resolve.version/1', version, node: process.version })
  else await output.result(`resolve ${version}`)
  return 0
}

/** A flag that no command before it could have. */
function unknownFlag(flag: string, noun: string | undefined): CommandError {
  const meant = nearest(flag, FLAGS_BEFORE)
  const problem =
    meant === undefined
      ? `There is no flag ${flag} before a command.`
      : `There is no flag ${flag}; did you mean ${meant}?`
  return usage(problem, { next: [['resolve', noun, '--help'].filter(Boolean).join(' ')] })
}

/** Offers what was probably meant, as commands to run. */
function unknownCommand(given: readonly string[]): CommandError {
  const [first = '', second] = given
  const words = second !== undefined && NOUNS.includes(first) ? `${first} ${second}` : first
  const meant = meantCommands(given)
  const details = meant[0] === undefined ? { words } : { words, nearest: meant[0] }
  return new CommandError(fail('command_unknown', details), { next: meant.map((command) => `resolve ${command}`) })
}
