/**
 * The log of `serve` on stderr: one line per request, and other events of the server. JSON for a program, a short line on a
 * terminal. It holds no secret: requests are logged without query, headers and bodies, and text in the form of a token is cut
 * (R37, WEB-4).
 */
import { styleText } from 'node:util'
import { type DestinationStream, destination, type Logger, pino, stdSerializers } from 'pino'
import { LOG_BUFFER_MAX_BYTES } from '../../core/limits.ts'
import { type Observer, withoutSecrets } from './observe.ts'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'silent'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** RESOLVE_LOG, `info` by default; undefined for an unknown level. */
export function levelFrom(env: NodeJS.ProcessEnv): LogLevel | undefined {
  const wanted = env['RESOLVE_LOG'] || 'info'
  return LOG_LEVELS.find((level) => level === wanted)
}

export interface LogOptions {
  level?: LogLevel
  /** A short line for a person, instead of JSON. */
  human?: boolean
  color?: boolean
  /** Default: stderr, without waiting for its reader. */
  write?: (line: string) => void
}

export interface Log {
  /** For the app, whose routes log faults with it. */
  logger: Logger
  requests: Observer
  /** Writes the buffered lines. */
  flush(): void
}

export function openLog({ level = 'info', human = false, color = false, write }: LogOptions = {}): Log {
  const out = write === undefined ? stderr() : { write, flush: () => {} }
  const sink: DestinationStream = {
    write: (line) => out.write(withoutSecrets(human ? humanLine(line, color) : line)),
  }
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: stdSerializers.err },
  }
  const logger = pino(options, sink)
  return { logger, requests: requestLog(logger), flush: out.flush }
}

/** After a failed write, lines are dropped for this long: the disk may be full, or the reader gone. */
const MUTE_MS = 5_000

/**
 * Never blocks the event loop: a stalled reader costs 8 MiB of memory, and then lines are dropped. The server goes on where its log cannot
 * be written (reliability F28).
 */
function stderr(): { write: (line: string) => void; flush: () => void } {
  let stream: ReturnType<typeof destination> | undefined
  let mutedUntil = 0
  const open = () => {
    const opened = destination({ dest: 2, sync: false, maxLength: LOG_BUFFER_MAX_BYTES })
    opened.on('error', () => {
      // It would try the same line again, without a pause.
      if (stream === opened) stream = undefined
      mutedUntil = performance.now() + MUTE_MS
      opened.destroy()
    })
    return opened
  }
  const write = (line: string) => {
    if (performance.now() < mutedUntil) return
    stream ??= open()
    stream.write(line)
  }
  const flush = () => {
    try {
      stream?.flushSync()
    } catch {
      // Not open yet, already closed, or it cannot be written.
    }
  }
  return { write, flush }
}

function requestLog(logger: Logger): Observer {
  return {
    begin: () => (seen) => {
      const { ms, finished, ...rest } = seen
      const line = { ...rest, ms: Math.round(ms * 10) / 10, ...(finished ? {} : { cut: true }) }
      if (seen.status >= 500) logger.error(line, 'request')
      else logger.info(line, 'request')
    },
  }
}

interface Line {
  level: string
  time: string
  msg?: string
  method?: string
  path?: string
  status?: number
  ms?: number
  cut?: boolean
  token?: string | null
  err?: { stack?: string; message?: string }
}

function humanLine(json: string, color: boolean): string {
  const line = JSON.parse(json) as Line
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text
  // In the zone of the machine, as a person's clock shows it.
  const time = paint('dim', new Date(line.time).toTimeString().slice(0, 8))
  const { method, status } = line
  if (method !== undefined && status !== undefined) {
    const style = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green'
    const who = line.token == null ? '' : paint('dim', ` ${line.token}`)
    const cut = line.cut === true ? ' cut' : ''
    return `${time} ${method} ${line.path} ${paint(style, String(status))} ${line.ms} ms${cut}${who}\n`
  }
  const sign = line.level === 'error' ? paint('red', '✗ ') : line.level === 'warn' ? paint('yellow', '! ') : ''
  const stack = line.err === undefined ? '' : `\n${line.err.stack ?? line.err.message ?? ''}`
  return `${time} ${sign}${printable(`${line.msg ?? ''}${stack}`)}\n`
}

/** Control characters from outside must not move the cursor of a terminal. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')
}
