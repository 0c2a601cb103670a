/** The program behind bin/run.js: finds the command in the words, runs it to its end, and ends the process with its code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../core/errors.ts'
import { CommandError } from '../terminal/command-error.ts'
import { nearest } from '../terminal/nearest.ts'
import { endQuietlyOnClosedPipe, flushed, outputFrom } from '../terminal/output.ts'
import { reportError } from '../terminal/report-error.ts'
import { setSurroundings, surroundings } from '../terminal/surroundings.ts'
import { type Found, findCommand } from './find-command.ts'
import { COMMANDS, commandWords, NOUNS } from './index.ts'

/** `root` is the directory of package.json. Never returns before stdout is out; ends the process. */
export async function main(argv: string[], root: string): Promise<void> {
  endQuietlyOnClosedPipe()
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  setSurroundings({ root, version })
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
  const found = findCommand(argv)
  switch (found.kind) {
    case 'version':
      return await printVersion(argv)
    case 'help':
      return await printHelp(found)
    case 'unknown':
      throw unknownCommand(found.words)
    case 'command': {
      const load = COMMANDS[found.id]
      if (load === undefined) throw unknownCommand(found.id.split(':'))
      const { default: CommandClass } = await load()
      const { oclifConfig } = await import('../terminal/oclif-config.ts')
      CommandClass.id = found.id
      return await new CommandClass(found.rest, oclifConfig()).runToEnd()
    }
  }
}

async function printVersion(argv: string[]): Promise<number> {
  const { version } = surroundings()
  const output = outputFrom(argv)
  if (output.json) await output.document({ schema: 'resolve.version/1', version, node: process.version })
  else await output.result(`resolve ${version}`)
  return 0
}

async function printHelp({ id, noun }: Extract<Found, { kind: 'help' }>): Promise<number> {
  const help = await import('../terminal/help.ts')
  const output = outputFrom([])
  const load = id === undefined ? undefined : COMMANDS[id]
  if (load !== undefined && id !== undefined) {
    await output.raw(help.commandHelp((await load()).default as never, commandWords(id)))
    return 0
  }
  const wanted = Object.entries(COMMANDS).filter(
    ([one]) => one.includes(':') && (noun === undefined || one.startsWith(`${noun}:`)),
  )
  const summaries = await Promise.all(
    wanted.map(async ([one, loadOne]) => {
      const { summary = '', aliases } = (await loadOne()).default
      return { words: commandWords(one), summary, aliases }
    }),
  )
  await output.raw(noun === undefined ? help.rootHelp(summaries) : help.nounHelp(noun, summaries))
  return 0
}

function unknownCommand(given: readonly string[]): CommandError {
  const [first = '', second] = given
  const words = second !== undefined && NOUNS.includes(first) ? `${first} ${second}` : first
  const commands = Object.keys(COMMANDS).map(commandWords)
  const near = nearest(given.join(' '), commands) ?? nearest(first, [...commands, ...NOUNS])
  const next = near === undefined ? 'resolve --help' : `resolve ${near} --help`
  const details = near === undefined ? { words } : { words, nearest: near }
  return new CommandError(fail('command_unknown', details), { next: [next] })
}
