/** I3 and I5 of what the readers of an instance's event stream were sent (reliability, Invariants). */
import type { Left, Report } from './invariants.ts'

/** One connection of a reader. */
export interface StreamConnection {
  /** The number it asked to go on after. */
  after: number
  frames: readonly { id?: string | undefined; data: string }[]
  /** Whether the server ended it, as opposed to a cut, a reader that left or a server that closed. */
  isWhole: boolean
}

/** All connections of one reader, in order. */
export type StreamHistory = readonly StreamConnection[]

const DONE = '{"type":"done"}'

export function checkStreams({ lines, hasEnded }: Left, streams: readonly StreamHistory[], report: Report): void {
  for (const [reader, connections] of streams.entries()) {
    let seen = connections[0]?.after ?? 0
    for (const [index, { after, frames, isWhole }] of connections.entries()) {
      const where = `reader ${reader}, connection ${index}`
      const events = frames.filter((frame) => frame.data !== DONE)
      if (after > seen) report('I3', `${where}: ${seen + 1} to ${after} were never sent`)
      for (const [place, { id, data }] of events.entries()) {
        const line = lines[after + place]
        if (line === undefined || id !== String(line.seq) || data !== line.text) {
          report('I3', `${where}: frame ${place} (id ${id}) is not event ${after + place + 1}`)
          break
        }
        seen = Math.max(seen, line.seq)
      }
      const markers = frames.length - events.length
      const last = frames.at(-1)
      if (markers > 1) report('I5', `${where}: ${markers} times done`)
      if (markers > 0 && last?.data !== DONE) report('I5', `${where}: something comes after done`)
      if (frames.some((frame) => frame.data === DONE && frame.id !== undefined))
        report('I5', `${where}: done has an id`)
      if (markers > 0 && !hasEnded) report('I5', `${where}: done, and the instance goes on`)
      if (markers > 0 && index < connections.length - 1)
        report('I5', `${where}: done, and the reader came back for more`)
      if (markers === 0 && isWhole) report('I5', `${where}: the stream ended without done`)
      if (markers > 0 && seen < endOf(lines))
        report('I3', `${where}: done after ${seen}, and the end is ${endOf(lines)}`)
    }
  }
}

function endOf(lines: Left['lines']): number {
  const end = lines.find(
    ({ event }) =>
      event.event_type === 'platform.instance.status_changed' &&
      ['completed', 'failed', 'cancelled'].includes(String(event.data['to'])),
  )
  return end?.seq ?? 0
}
