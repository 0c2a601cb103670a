/**
 * Prints an error once: on stderr for a person (sentence, hint, commands to run next), with --json or --jsonl as one document on
 * stdout. Returns its exit code. Called by the base command and by main.ts.
 */
import { stripVTControlCharacters } from 'node:util'
import { diskTrouble, fail, ResolveError } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { nearest } from '../../core/primitives/nearest.ts'
import { cleanText } from '../../core/view/clean.ts'
import { CommandError } from '../output/command-error.ts'
import { type ErrorExtras, errorDocument } from '../output/documents.ts'
import { EXIT } from '../output/exit-codes.ts'
import { workflowCommand } from '../output/github-commands.ts'
import type { Output } from '../output/output.ts'
import { placedHint, type ServerPlace } from '../output/place-hint.ts'
import { wholeCommands } from '../output/shell.ts'
import { isGithub } from '../output/surroundings.ts'
import { type BugContext, withoutToken, writeBugReport } from './bug-report.ts'

interface Report {
  error: ResolveError
  extras: ErrorExtras
  exitCode: number
}

export interface ErrorContext extends BugContext {
  debug: boolean
  instance?: string | undefined
  /** The server that the command talked to. */
  server?: string | undefined
  /** The same, and what chose it. */
  place?: ServerPlace | undefined
  /** The flags that the command has, as `--name`. */
  flags?: readonly string[]
  /** The command line with one word replaced by another. */
  corrected?: (wrong: string, right: string) => string
}

/** Prints the error and returns the exit code. */
export async function reportError(output: Output, thrown: unknown, context: ErrorContext): Promise<number> {
  const report = withInstance(withPlace(await toReport(thrown, context), context), context.instance)
  printForPerson(output, report, context)
  const extras = context.server === undefined ? report.extras : { ...report.extras, server: context.server }
  if (context.debug) output.say(cleanText(withoutToken(stackOf(thrown))))
  if (output.json) await output.document(errorDocument(report.error, report.exitCode, extras))
  else if (output.jsonl) {
    await output.raw(`${JSON.stringify({ type: 'error', ...errorDocument(report.error, report.exitCode, extras) })}\n`)
  }
  return report.exitCode
}

function withPlace({ error, extras, exitCode }: Report, { place }: ErrorContext): Report {
  const hint = extras.hint ?? error.hint
  if (hint === undefined || place === undefined) return { error, extras, exitCode }
  return { error, extras: { ...extras, hint: placedHint(error.code, hint, place) }, exitCode }
}

/** Adds the instance id, and completes the commands in the hint. */
function withInstance({ error, extras, exitCode }: Report, id: string | undefined): Report {
  const hint = extras.hint ?? error.hint
  const more = {
    ...(hint === undefined ? {} : { hint: wholeCommands(hint, id) }),
    ...(id === undefined ? {} : { instance_id: id }),
  }
  return { error, extras: { ...extras, ...more }, exitCode }
}

function printForPerson(output: Output, { error, extras, exitCode }: Report, { server, command }: ErrorContext): void {
  const lines = [output.paint('red', `✗ ${error.message}`)]
  // With --json stderr gets one line of prose; the document has the details.
  if (output.forPerson) {
    const named = error.fields.map(({ id, message }) => `${id}: ${message}`)
    // Some errors have them in their sentence already.
    const sentences = named.length > 0 ? named : error.errors.filter((one) => !error.message.includes(one))
    lines.push(...sentences.map((sentence) => `  - ${cleanText(sentence)}`))
    if (server !== undefined) lines.push(`  The server is ${cleanText(server)}.`)
    if (extras.hint !== undefined) lines.push(`  ${cleanText(extras.hint)}`)
    for (const command of extras.next ?? []) lines.push(`  ${output.paint('cyan', command)}`)
  }
  const text = output.forPerson ? lines.join('\n') : (lines[0] ?? '')
  if (isGithub() && isAnnotated(command, exitCode)) {
    output.command(workflowCommand('error', stripVTControlCharacters(text).replace(/^✗ /, '')))
  } else output.say(text)
}

/** In a job of GitHub Actions: a command that runs an instance has no other end to tell of; others may be asked on purpose for what is not there. */
function isAnnotated(command: string, exitCode: number): boolean {
  if (FOLLOWS.test(command)) return !SIGNALS.includes(exitCode)
  return ANNOTATED.includes(exitCode)
}

const FOLLOWS = /^(?:instance[: ])?(?:run|retry|resume|watch|wait)(?: |$)/
const ANNOTATED: readonly number[] = [EXIT.formInvalid, EXIT.unavailable, EXIT.bug, EXIT.commandNotFound]
const SIGNALS: readonly number[] = [EXIT.hangup, EXIT.interrupted, EXIT.terminated]

async function toReport(thrown: unknown, context: ErrorContext): Promise<Report> {
  if (thrown instanceof CommandError) return { error: thrown.error, extras: thrown.extras, exitCode: thrown.exitCode }
  if (thrown instanceof ResolveError && thrown.kind !== 'bug')
    return { error: thrown, extras: correction(thrown, context), exitCode: thrown.exitCode }
  const slip = misspeltFlag(thrown, context)
  if (slip !== undefined) return slip
  const parsed = flagFault(thrown)
  if (parsed !== undefined) {
    const help = ['resolve', ...context.command.split(' ').filter((word) => !word.startsWith('-')), '--help'].join(' ')
    return { error: fail('usage', { problem: meantValue(parsed) }), extras: { next: [help] }, exitCode: EXIT.usage }
  }
  const trouble = diskTrouble(thrown, pathOf(thrown))
  if (trouble !== undefined) return { error: trouble, extras: {}, exitCode: trouble.exitCode }
  const report = await writeBugReport(thrown, context)
  const what = thrown instanceof Error ? thrown.message : String(thrown)
  const error = thrown instanceof ResolveError ? thrown : fail('bug', { what }, { cause: thrown })
  const fields = report === null ? [] : [{ id: 'report', message: report }]
  return { error, extras: { fields, next: report === null ? [] : [`cat ${report}`] }, exitCode: EXIT.bug }
}

const NAMED = ['resolver_unknown', 'schedule_unknown', 'secret_unknown', 'notify_unknown']

/** The same command with the name that was probably meant. */
function correction(error: ResolveError, { corrected }: ErrorContext): ErrorExtras {
  const { name, nearest: meant } = error.details
  const isName = NAMED.includes(error.code) && typeof name === 'string' && typeof meant === 'string'
  return isName && corrected !== undefined ? { next: [corrected(name, meant)] } : {}
}

/** A flag that does not exist but nearly does, with the corrected command; undefined for any other error. */
function misspeltFlag(thrown: unknown, { flags = [], corrected }: ErrorContext): Report | undefined {
  const given = isObject(thrown) && Array.isArray(thrown['flags']) ? thrown['flags'].map(String) : []
  const wrong = given[0]?.split('=')[0]
  if (wrong === undefined || given.length > 1 || !wrong.startsWith('--')) return undefined
  const meant = nearest(wrong, flags)
  if (meant === undefined) return undefined
  const error = fail('usage', { problem: `There is no flag ${wrong}; did you mean ${meant}?` })
  return { error, extras: corrected === undefined ? {} : { next: [corrected(wrong, meant)] }, exitCode: EXIT.usage }
}

/** What was probably meant by a value that a flag cannot have. */
function meantValue(sentence: string): string {
  const [, given = '', options = ''] = /^Expected --[\w-]+=(.*) to be one of: (.*?)\.?$/.exec(sentence) ?? []
  const meant = nearest(given, options.split(', '))
  return meant === undefined ? sentence : `${sentence} Did you mean "${meant}"?`
}

/** The message of an oclif parser error, without oclif's reference to help; undefined for any other error. */
function flagFault(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('oclif' in thrown)) return undefined
  return thrown.message
    .replace(/\n?See more help with --help/, '')
    .replace(/^Missing \d+ required args?:\s*(\w+)[\s\S]*$/, (_, name: string) => `${name.toUpperCase()} is missing`)
    .replace(/^The following errors? occurred:\s*/, '')
    .replace(/All of the following must be provided when using (--\S+): (--\S+)/, '$1 needs $2 too')
    .replace(/(--\w+)=true cannot also be provided when using (--\w+)/, '$1 and $2 exclude each other')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/^Parsing (--\S+) Expected (.+) but received: (.*)$/, '$1 must be $2, not "$3"')
    .replace(/^Nonexistent flags?: /, 'There is no flag ')
    .replace(/^Unexpected arguments?: /, 'Too many arguments: ')
    .trim()
    .replace(/([^.!?])$/, '$1.')
}

function pathOf(error: unknown): string {
  const path = typeof error === 'object' && error !== null && 'path' in error ? error.path : undefined
  return typeof path === 'string' ? path : 'the file being written'
}

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const causes: string[] = []
  for (let error: unknown = thrown; error instanceof Error; error = error.cause)
    causes.push(error.stack ?? error.message)
  return causes.join('\ncaused by: ')
}
