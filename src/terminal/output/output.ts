/**
 * The two streams of a command (docs/cli.md, Streams). stdout carries the result and nothing else; stderr everything said on the
 * way. Every command writes through here, so that a closed pipe, colour and hostile text are dealt with once.
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

  /** Whether a person reads stdout. */
  get forPerson(): boolean {
    return !this.json && !this.jsonl
  }

  colorOn(stream: NodeJS.WriteStream): boolean {
    return isColoured(this.#color, stream)
  }

  /** Paints text for stderr; the text itself is cleaned first. */
  paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stderr): string {
    const clean = cleanText(text)
    return this.colorOn(stream) ? styleText(style, clean, { validateStream: false }) : clean
  }

  /** A result for a person on stdout: cleaned when a terminal shows it, as it is when a program reads it. */
  async result(text: string): Promise<void> {
    if (process.stdout.isTTY) await this.raw(`${cleanText(text)}\n`)
    else await this.raw(`${isGithub() ? withoutCommands(text) : text}\n`)
  }

  /** One JSON document, alone on stdout. */
  async document(document: unknown): Promise<void> {
    const text = JSON.stringify(document, null, 2)
    await this.raw(`${isGithub() ? withoutCommandsInJson(text) : text}\n`)
  }

  /** Bytes or text on stdout as they are, waiting where the reader is slower. */
  async raw(chunk: string | Uint8Array): Promise<void> {
    if (process.stdout.destroyed || closedPipe.signal.aborted || process.stdout.write(chunk)) return
    await once(process.stdout, 'drain', { signal: closedPipe.signal }).catch(() => undefined)
  }

  /** A notice or receipt on stderr; `-q` keeps it back. The caller has cleaned it, or painted it. */
  note(line: string): void {
    if (!this.quiet) this.say(line)
  }

  /** What is said in any case: an error, or why a command let go. */
  say(line: string): void {
    process.stderr.write(`${isGithub() ? withoutCommands(line) : line}\n`)
  }

  /** A workflow command for the runner of GitHub Actions, made by `workflowCommand`. */
  command(line: string): void {
    process.stderr.write(`${line}\n`)
  }
}

let heldBy: (() => void) | undefined
const closedPipe = new AbortController()

/** A reader that went away (`| head`) is no error: the command ends quietly. Call once, before anything is written. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isGone(error)) {
      // Nothing more can be said there; what the command did stands.
      process.stderr.write(`✗ Can't write to stdout: ${error.code ?? error.message}.\n`)
      process.exit(EXIT.unavailable)
    }
    closedPipe.abort()
    if (heldBy === undefined) process.exit(0)
    else heldBy()
  })
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (!isGone(error)) throw error
  })
}

/** A pipe nobody reads, or a terminal that was closed. */
function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'EIO'
}

/** Lets a command that hosts an instance hand it over before it ends for want of a reader. Returns how to let go. */
export function holdOnClosedPipe(onClosed: () => void): () => void {
  heldBy = onClosed
  return () => {
    heldBy = undefined
    if (closedPipe.signal.aborted) process.exit(0)
  }
}

/** Resolves once everything written is out; a pipe may hold some of it back. */
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

/** The streams as the words ask for them, before and without a parse. */
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
