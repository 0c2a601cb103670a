/** Tracks a connection to a server that breaks while a command follows an instance: its messages, and the final error. */
import { ResolveError } from '../../core/errors.ts'
import type { Connection } from '../../core/index.ts'
import { CommandError, withSentence } from './command-error.ts'
import { commandLine } from './shell.ts'

/** Tracks the state of a connection that several followers share, and reports changes only. */
export interface ConnectionTracker {
  update(connection: Connection): void
  /** When the connection was lost, in milliseconds since 1970; undefined while it is connected. */
  lostSince(): number | undefined
}

export function trackConnection(onChange: (connection: Connection) => void): ConnectionTracker {
  let since: number | undefined
  return {
    update(connection) {
      const isChange = (connection.state === 'lost') === (since === undefined)
      since = connection.state === 'lost' ? (since ?? connection.since) : undefined
      if (isChange) onChange(connection)
    },
    lostSince: () => since,
  }
}

/** One line for each change. */
export function connectionLine(connection: Connection, now: number): string {
  if (connection.state === 'back')
    return `The connection to the server is back after ${seconds(now - connection.since)}.`
  return `The connection to the server is lost; reconnecting for up to ${seconds(connection.givesUpAt - connection.since)}.`
}

/** The line for views that are redrawn; a short form for narrow terminals. */
export function lostText({ since, givesUpAt }: Lost, now: number, columns: number): string {
  const [ago, left] = [seconds(now - since), seconds(givesUpAt - now)]
  const long = `connection to the server lost ${ago} ago, reconnecting (gives up in ${left})`
  return long.length <= columns ? long : `connection lost ${ago} ago, reconnecting`
}

export type Lost = Extract<Connection, { state: 'lost' }>

/** Whether the error means that the server is unreachable, perhaps for a short time. */
export function isConnectionError(error: unknown): error is ResolveError {
  return error instanceof ResolveError && (error.code === 'server_unreachable' || error.code === 'shutting_down')
}

/** The error after reconnecting failed. `id` is the followed instance, `again` the command that starts over. */
export function lostError(
  error: ResolveError,
  { since, id, again }: { since: number | undefined; id?: string | undefined; again?: string },
): CommandError {
  const next = again ?? (id === undefined ? undefined : commandLine('instance', 'watch', id))
  const extras = next === undefined ? {} : { next: [next] }
  if (since === undefined) return new CommandError(error, extras)
  const url = typeof error.details['url'] === 'string' ? error.details['url'] : 'the server'
  const continues = id === undefined ? '' : `; ${id} continues on the server`
  const message = `The connection to ${url} was lost ${seconds(Date.now() - since)} ago${continues}.`
  const what = id === undefined ? 'Run the command' : 'Watch it'
  const reworded = withSentence(error, 'server_unreachable', {
    message,
    hint: `${what} again when the server is reachable.`,
  })
  return new CommandError(reworded, extras)
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.round(ms / 1_000))} s`
}
