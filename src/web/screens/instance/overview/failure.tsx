/** Why a run failed, with the evidence: the code, the sentence, and the last lines that its worker printed. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { InstanceError } from '../../../../core/protocol/instance.ts'
import { cleanText } from '../../../../core/view/clean.ts'
import { errorText, settingHint } from '../../../../core/view/error-text.ts'
import { fetchLogs } from '../../../api/calls.ts'
import { sentenceOf } from '../../../api/problem.ts'
import { LogRow } from '../log/log-row.tsx'

/** Lines of the log that are looked at, and those of them that are shown. */
const READ_MAX = 400
const SHOWN_MAX = 30

export function Failure({ id, error }: { id: string; error: InstanceError }) {
  const log = useQuery({
    queryKey: ['failure-log', id],
    queryFn: ({ signal }) => fetchLogs(id, { tail: READ_MAX }, signal),
  })
  const told = log.data?.lines ?? []
  const printed = told.filter(({ source, level }) => source === 'stderr' || level === 'error')
  const shown = (printed.length > 0 ? printed : told).slice(-SHOWN_MAX)
  const hint = settingHint(error)
  return (
    <section className="failure" aria-labelledby="failure" data-error={error.code}>
      <div className="section-top">
        <h2 id="failure">Why it failed</h2>
        <code>{error.code}</code>
      </div>
      <p className="failure-text">{cleanText(errorText(error))}</p>
      {hint !== undefined && <p>{hint}</p>}
      {shown.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        <div className="log-box log-box-short" role="region" tabIndex={0} aria-label="The last lines of its worker">
          {shown.map((line) => (
            <LogRow key={line.n} line={line} />
          ))}
        </div>
      )}
      {log.isError && <p className="quiet">Cannot read its log. {sentenceOf(log.error)}</p>}
      <p className="failure-links">
        {log.data !== undefined && shown.length === 0 && (
          <span className="quiet">Its worker printed nothing to stderr. </span>
        )}
        <Link href={`/instances/${id}/log${printed.length > 0 ? '?source=stderr' : ''}`}>Open the logs</Link>
        <Link href={`/instances/${id}/timeline`}>Open the events</Link>
      </p>
    </section>
  )
}
