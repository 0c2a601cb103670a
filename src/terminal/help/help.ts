/** Renders help: short lists for the program and its nouns; for a command, oclif renders flags, arguments and examples. */

import { CommandHelp } from '@oclif/core/help'
import type { Described } from '../command/base-command.ts'
import { oclifConfig } from '../command/oclif-config.ts'
import { pad } from '../output/width.ts'

export interface CommandSummary {
  /** `instance run`. */
  words: string
  summary: string
  aliases: readonly string[]
}

export function rootHelp(commands: readonly CommandSummary[], topics: readonly string[]): string {
  return [
    'Run instances of pluggable resolvers.',
    '',
    'USAGE',
    '  resolve NOUN VERB [flags]',
    '',
    'COMMANDS',
    ...rows(commands.map((command) => [command.words, withAliases(command)])),
    '',
    'Every command accepts --json, -q/--quiet, --no-input, --color auto|always|never and --debug. Commands that can',
    'use a server accept --server URL ("resolve help server").',
    'To name an instance, use its id, a unique prefix of it (4 characters or more), or @last for the newest.',
    '',
    'FIRST STEPS',
    '  resolve run hello -i name=Ada',
    '  resolve instance run --help',
    '',
    `TOPICS: resolve help ${topics.join(', ')}`,
    '',
  ].join('\n')
}

export function nounHelp(noun: string, commands: readonly CommandSummary[]): string {
  return [
    'USAGE',
    `  resolve ${noun} VERB [flags]`,
    '',
    'COMMANDS',
    ...rows(commands.map((command) => [command.words, withAliases(command)])),
    '',
    `"resolve ${noun} VERB --help" shows the flags and examples of a command.`,
    '',
  ].join('\n')
}

export function commandHelp(command: Described, words: string): string {
  const flags = { ...command.baseFlags, ...command.flags }
  // Commands that work on this machine only refuse --server.
  if (command.place !== undefined && command.place !== 'anywhere') delete flags['server']
  if (command.place === 'always here') delete flags['context']
  const named = Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, name }]))
  const args = Object.fromEntries(Object.entries(command.args).map(([name, arg]) => [name, { ...arg, name }]))
  const { summary, description, examples, aliases, strict } = command
  // The summary was printed above.
  const loadable = { id: words, description, examples, aliases, strict, flags: named, args, hiddenAliases: [] }
  const body = new CommandHelp(loadable as never, oclifConfig(), { maxWidth: 100, stripAnsi: true } as never).generate()
  return `${summary ?? ''}\n\n${body}\n`
}

function withAliases({ summary, aliases }: CommandSummary): string {
  return aliases.length === 0 ? summary : `${summary} (also: resolve ${aliases.join(', resolve ')})`
}

function rows(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...pairs.map(([words]) => words.length)) + 3
  return pairs.map(([words, summary]) => `  ${pad(words, width)}${summary}`)
}
