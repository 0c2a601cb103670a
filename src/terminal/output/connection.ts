/** A connection to a server that is lost while something is followed or watched: its sentences, and the error it ends with. */
import { ResolveError } from '../../core/errors.ts'
import type { Connection } from '../../core/index.ts'
import { CommandError, retold } from './command-error.ts'
import { commandLine } from './shell.ts'

/** Listens to a connection, however many follow through it, and passes on what changes. */
export interface ConnectionEar {
  hear(connection: Connection): void
  /** Since when it is lost, in milliseconds since 1970; undefined while it is there. */
  lostSince(): number | undefined
}

export function connectionEar(tell: (connection: Connection) => void): ConnectionEar {
  let since: number | undefined
  return {
    hear(connection) {
      const isChange = (connection.state === 'lost') === (since === undefined)
      since = connection.state === 'lost' ? (since ?? connection.since) : undefined
      if (isChange) tell(connection)
    },
    lostSince: () => since,
  }
}

/** One line for each change. */
export function connectionLine(connection: Connection, now: number): string {
  if (connection.state === 'back')
    return `The connection to the server is back after ${seconds(now - connection.since)}.`
  return `The connection to the server is lost; trying again for ${seconds(connection.givesUpAt - connection.since)}.`
}

/** For what is drawn again as time goes by; the short one where there is little room. */
export function lostText({ since, givesUpAt }: Lost, now: number, columns: number): string {
  const [ago, left] = [seconds(now - since), seconds(givesUpAt - now)]
  const long = `connection to the server lost ${ago} ago, trying again (gives up in ${left})`
  return long.length <= columns ? long : `connection lost ${ago} ago, trying again`
}

export type Lost = Extract<Connection, { state: 'lost' }>

/** Whether the server is what is missing, and may come back. */
export function isConnectionError(error: unknown): error is ResolveError {
  return error instanceof ResolveError && (error.code === 'server_unreachable' || error.code === 'shutting_down')
}

/** What a command ends with whose connection is not to be had again; `id` is the instance it followed, `again` what begins anew. */
export function lostError(
  error: ResolveError,
  { since, id, again }: { since: number | undefined; id?: string | undefined; again?: string },
): CommandError {
  const next = again ?? (id === undefined ? undefined : commandLine('instance', 'watch', id))
  const extras = next === undefined ? {} : { next: [next] }
  if (since === undefined) return new CommandError(error, extras)
  const url = typeof error.details['url'] === 'string' ? error.details['url'] : 'the server'
  const goesOn = id === undefined ? '' : `; ${id} goes on there`
  const message = `The connection to ${url} was lost ${seconds(Date.now() - since)} ago${goesOn}.`
  const what = id === undefined ? 'Give the command' : 'Watch it'
  const told = retold(error, 'server_unreachable', { message, hint: `${what} again once the server is there.` })
  return new CommandError(told, extras)
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.round(ms / 1_000))} s`
}
