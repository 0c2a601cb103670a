/**
 * The two output streams of a command (docs/cli.md, Streams). stdout gets only the result; stderr gets everything else. Every
 * command writes through this class, so that closed pipes, colour and hostile text are handled in one place.
 */
import { once } from 'node:events'
import { styleText } from 'node:util'
import { cleanText } from '../../core/view/clean.ts'
import { type ColorChoice, isColoured } from './colour.ts'
import { EXIT } from './exit-codes.ts'
import { withoutCommands, withoutCommandsInJson } from './github-commands.ts'
import { isGithub } from './surroundings.ts'

export interface OutputOptions {
  json: boolean
  jsonl: boolean
  quiet: boolean
  color: ColorChoice
}

type Style = Parameters<typeof styleText>[0]

export class Output {
  readonly json: boolean
  readonly jsonl: boolean
  readonly quiet: boolean
  readonly #color: ColorChoice

  constructor(options: OutputOptions) {
    this.json = options.json
    this.jsonl = options.jsonl
    this.quiet = options.quiet
    this.#color = options.color
  }

  /** Whether stdout is formatted for a person: neither --json nor --jsonl. */
  get forPerson(): boolean {
    return !this.json && !this.jsonl
  }

  colorOn(stream: NodeJS.WriteStream): boolean {
    return isColoured(this.#color, stream)
  }

  /** Cleans the text of control characters, then colours it for the stream. */
  paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stderr): string {
    const clean = cleanText(text)
    return this.colorOn(stream) ? styleText(style, clean, { validateStream: false }) : clean
  }

  /** Prints a line of the result on stdout. The text is cleaned only if stdout is a terminal. */
  async result(text: string): Promise<void> {
    if (process.stdout.isTTY) await this.raw(`${cleanText(text)}\n`)
    else await this.raw(`${isGithub() ? withoutCommands(text) : text}\n`)
  }

  /** Prints one JSON document, the only output on stdout. */
  async document(document: unknown): Promise<void> {
    const text = JSON.stringify(document, null, 2)
    await this.raw(`${isGithub() ? withoutCommandsInJson(text) : text}\n`)
  }

  /** Writes bytes or text to stdout unchanged; waits while the reader is slow. */
  async raw(chunk: string | Uint8Array): Promise<void> {
    if (process.stdout.destroyed || closedPipe.signal.aborted || written(process.stdout, chunk)) return
    await once(process.stdout, 'drain', { signal: closedPipe.signal }).catch(() => undefined)
  }

  /** Prints a notice on stderr, unless `-q` was given. The caller cleans or paints it. */
  note(line: string): void {
    if (!this.quiet) this.say(line)
  }

  /** Prints a line on stderr, also with `-q`: an error, or why the command stops following. */
  say(line: string): void {
    written(process.stderr, `${isGithub() ? withoutCommands(line) : line}\n`)
  }

  /** Prints a workflow command for the runner of GitHub Actions, made by `workflowCommand`. */
  command(line: string): void {
    written(process.stderr, `${line}\n`)
  }
}

/** A write to a file throws at once, where one to a pipe reports its error later. False where the reader is slow. */
function written(stream: NodeJS.WriteStream, chunk: string | Uint8Array): boolean {
  try {
    return stream.write(chunk)
  } catch (error) {
    stream.emit('error', error)
    return true
  }
}

let heldBy: (() => void) | undefined
const closedPipe = new AbortController()

/** If the reader of stdout closes the pipe (`| head`), the command ends without an error. Called once, before any output. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', endOnError)
  // A notice that cannot be written, on a full disk for example, must not end what it tells of.
  process.stderr.on('error', () => {})
}

function endOnError(error: NodeJS.ErrnoException): void {
  if (!isGone(error)) {
    // No more output is possible; the effects of the command remain.
    written(process.stderr, `✗ Can't write to stdout: ${error.code ?? error.message}.\n`)
    process.exit(EXIT.unavailable)
  }
  closedPipe.abort()
  if (heldBy === undefined) process.exit(0)
  else heldBy()
}

/** For a server: it goes on where its output cannot be written. A library throws such an error again, so its listener goes, too. */
export function goOnMute(): void {
  process.stdout.removeAllListeners('error')
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isGone(error)) endOnError(error)
  })
}

/** The pipe has no reader any more, or the terminal was closed. */
function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'EIO'
}

/** Lets a command that hosts an instance hand it over before it ends because of a closed pipe. Returns the function that undoes this. */
export function holdOnClosedPipe(onClosed: () => void): () => void {
  heldBy = onClosed
  return () => {
    heldBy = undefined
    if (closedPipe.signal.aborted) process.exit(0)
  }
}

/** Resolves when both streams have been flushed. */
export async function flushed(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) =>
        new Promise<void>((done) =>
          stream.destroyed || (stream === process.stdout && closedPipe.signal.aborted)
            ? done()
            : stream.write('', () => done()),
        ),
    ),
  )
}

/** The output for these arguments, before the flags are parsed. */
export function outputFrom(argv: readonly string[]): Output {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  const at = words.indexOf('--color')
  const color = at === -1 ? words.find((word) => word.startsWith('--color='))?.slice('--color='.length) : words[at + 1]
  return new Output({
    json: words.includes('--json'),
    jsonl: words.includes('--jsonl'),
    quiet: words.includes('--quiet') || words.includes('-q'),
    color: color === 'always' || color === 'never' ? color : 'auto',
  })
}
