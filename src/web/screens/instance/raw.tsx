/** The raw data: the record, the input, the story, and the envelopes of the events. */
import { useQuery } from '@tanstack/react-query'
import { instanceQuery } from '../../api/queries.ts'
import type { TabProps } from '../../live/tab-props.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { saveText } from '../../parts/save-file.ts'

const SHOWN_MAX = 200

export default function RawTab({ id, live }: TabProps) {
  const record = useQuery({ ...instanceQuery(id), refetchInterval: 3_000 }).data
  const all = () => `${live.events.map(({ event }) => JSON.stringify(event)).join('\n')}\n`
  const shown = live.events.slice(-SHOWN_MAX)
  return (
    <div className="raw">
      <section aria-labelledby="raw-record">
        <div className="section-top">
          <h2 id="raw-record">Record</h2>
          {record !== undefined && <CopyButton text={JSON.stringify(record, null, 2)}>Copy</CopyButton>}
        </div>
        <JsonView value={record ?? null} label="Record" />
      </section>
      <section aria-labelledby="raw-events">
        <div className="section-top">
          <h2 id="raw-events">Events</h2>
          <button type="button" className="button button-small" onClick={() => saveText(`${id}.events.jsonl`, all())}>
            Save all {live.count} as JSON lines
          </button>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
        <pre className="raw-events" role="region" tabIndex={0} aria-label="The last events, a line each">
          {shown.map(({ seq, event }) => `${seq}\t${JSON.stringify(event)}`).join('\n')}
        </pre>
      </section>
    </div>
  )
}
