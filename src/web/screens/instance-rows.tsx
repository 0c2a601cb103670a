/** A list of instances: a table on wide screens, cards on narrow ones; the ARIA roles are those of a table on both. */
import { useQuery } from '@tanstack/react-query'
import type { MouseEvent } from 'react'
import { Link, useLocation } from 'wouter'
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import { isTerminal } from '../../core/protocol/status.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { durationText } from '../../core/view/time-words.ts'
import { pendingQuery } from '../api/queries.ts'
import { Ago } from '../parts/ago.tsx'
import { StatusMark } from '../parts/status.tsx'
import { useNow } from '../parts/use-now.ts'

const COLUMNS = ['Status', 'Name', 'Resolver', 'Phase', 'Started', 'Duration']

export function InstanceRows({ records, label }: { records: readonly InstanceRecord[]; label: string }) {
  return (
    <div className="rows" role="table" aria-label={label}>
      <div role="rowgroup">
        <div className="row row-head" role="row">
          {COLUMNS.map((column) => (
            <div key={column} role="columnheader">
              {column}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup">
        {records.map((record) => (
          <Row key={record.instance_id} record={record} />
        ))}
      </div>
    </div>
  )
}

function Row({ record }: { record: InstanceRecord }) {
  const { instance_id: id, name, resolver, status, phase, queue, pending_inputs: pending } = record
  const [, go] = useLocation()
  const here = `/instances/${id}/timeline`
  const open = (event: MouseEvent) => {
    // Keyboard users follow the links; a click anywhere in the row does the same.
    if (event.target instanceof Element && event.target.closest('a') === null && getSelection()?.isCollapsed !== false)
      go(here)
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in the row does the same.
    <div className="row" role="row" tabIndex={-1} data-instance={id} onClick={open}>
      <div role="cell">
        <StatusMark status={status} queue={queue} />
      </div>
      <div role="cell" className="row-name">
        <Link href={here}>{name ?? id}</Link>
        <LabelList labels={record.labels} />
        {pending > 0 && <Prompt id={id} />}
        {pending > 0 && (
          <Link href={here} className="button button-small button-main">
            Answer<span className="out-of-sight"> {name ?? id}</span>
          </Link>
        )}
      </div>
      <div role="cell" className="row-resolver">
        {resolver}
      </div>
      <div role="cell" className="row-phase">
        {phase ?? <span className="quiet">–</span>}
      </div>
      <div role="cell" className="row-when">
        <Ago at={record.created_at} />
      </div>
      <div role="cell" className="row-length">
        <Duration record={record} />
      </div>
    </div>
  )
}

function LabelList({ labels = {} }: { labels: Readonly<Record<string, string>> | undefined }) {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  if (pairs.length === 0) return null
  return <span className="quiet"> {cleanLine(pairs.join(' '))}</span>
}

/** The prompt of the open input request, if it is loaded. */
function Prompt({ id }: { id: string }) {
  const [first] = useQuery(pendingQuery(id)).data ?? []
  if (first === undefined) return null
  return <span className="row-prompt">{cleanLine(first.prompt)}</span>
}

function Duration({ record: { created_at, ended_at, updated_at, status } }: { record: InstanceRecord }) {
  const now = useNow()
  const end = isTerminal(status) ? Date.parse(ended_at ?? updated_at) : now
  return <>{durationText(end - Date.parse(created_at))}</>
}
