/** Shows the state of the connection to an instance in one word; screen readers announce changes. */
import { CONNECTION_WORDS, type Connection } from '../live/connection.ts'

export function ConnectionChip({ connection }: { connection: Connection }) {
  const { word, means } = CONNECTION_WORDS[connection]
  return (
    <span className="chip" data-connection={connection} role="status" title={means}>
      <span className="chip-dot" aria-hidden="true" />
      {word}
    </span>
  )
}
