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
import { reasonOf, stepOf } from './list/row-words.ts'

const COLUMNS = ['Status', 'Name', 'Resolver', 'Phase', 'Started', 'Duration']

interface InstanceRowsProps {
  records: readonly InstanceRecord[]
  label: string
  /** The ids of the selected ones; without it nothing can be selected. */
  selected?: ReadonlySet<string>
  onSelect?: (selected: ReadonlySet<string>) => void
  /** Called when the user begins and ends to point at the rows, or to move through them. */
  onPointed?: (isPointed: boolean) => void
}

export function InstanceRows({ records, label, selected, onSelect, onPointed }: InstanceRowsProps) {
  const canSelect = selected !== undefined && onSelect !== undefined
  const areAll = canSelect && records.every(({ instance_id: id }) => selected.has(id))
  const toggle = (id: string) => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    onSelect?.(next)
  }
  return (
    <div
      className={canSelect ? 'rows rows-selectable' : 'rows'}
      role="table"
      aria-label={label}
      onPointerEnter={() => onPointed?.(true)}
      onPointerLeave={() => onPointed?.(false)}
      onFocus={() => onPointed?.(true)}
      onBlur={() => onPointed?.(false)}
    >
      <div role="rowgroup">
        <div className="row row-head" role="row">
          {canSelect && (
            <div role="columnheader" className="row-pick">
              <input
                type="checkbox"
                aria-label="Select all"
                checked={areAll}
                onChange={() => onSelect(new Set(areAll ? [] : records.map(({ instance_id: id }) => id)))}
              />
            </div>
          )}
          {COLUMNS.map((column) => (
            <div key={column} role="columnheader">
              {column}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup">
        {records.map((record) => (
          <Row
            key={record.instance_id}
            record={record}
            {...(canSelect
              ? { isSelected: selected.has(record.instance_id), onToggle: () => toggle(record.instance_id) }
              : {})}
          />
        ))}
      </div>
    </div>
  )
}

interface RowProps {
  record: InstanceRecord
  isSelected?: boolean
  onToggle?: () => void
}

function Row({ record, isSelected = false, onToggle }: RowProps) {
  const { instance_id: id, name, resolver, status, queue, pending_inputs: pending, parent_id: parent } = record
  const [, go] = useLocation()
  const here = `/instances/${id}/timeline`
  const reason = reasonOf(record)
  const open = (event: MouseEvent) => {
    // Keyboard users follow the links; a click anywhere in the row does the same.
    const isControl = event.target instanceof Element && event.target.closest('a, input, label') !== null
    if (!isControl && getSelection()?.isCollapsed !== false) go(here)
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in the row does the same.
    <div
      className="row"
      role="row"
      tabIndex={-1}
      data-instance={id}
      data-selected={isSelected || undefined}
      onClick={open}
    >
      {onToggle !== undefined && (
        <div role="cell" className="row-pick">
          <label>
            <input type="checkbox" aria-label={`Select ${name ?? id}`} checked={isSelected} onChange={onToggle} />
          </label>
        </div>
      )}
      <div role="cell" className="row-status">
        <StatusMark status={status} queue={queue} />
      </div>
      <div role="cell" className="row-name">
        <div className="row-words">
          <Link href={here} data-key-item="">
            {name ?? id}
          </Link>
          <LabelList labels={record.labels} />
          {reason !== null && (
            <span className="row-reason" title={reason}>
              {reason}
            </span>
          )}
          {parent !== null && (
            <span className="row-parent quiet">
              repeats <Link href={`/instances/${parent}/timeline`}>{parent}</Link> ·{' '}
              <Link href={`/instances/compare?left=${parent}&right=${id}`}>
                compare<span className="out-of-sight"> {name ?? id} with it</span>
              </Link>
            </span>
          )}
          {pending > 0 && <Prompt id={id} />}
        </div>
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
        <Step record={record} />
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

/** The phase, and below it the progress of a run that goes on. */
function Step({ record }: { record: InstanceRecord }) {
  const { phase, progress, percent } = stepOf(record)
  if (phase === null && progress === null) return <span className="quiet">–</span>
  return (
    <>
      {phase}
      {progress !== null && (
        <span className="row-progress quiet" title={progress}>
          {percent !== null && <progress aria-label={progress} value={percent} max={100} />}
          <span>{percent === null ? progress : `${percent} %`}</span>
        </span>
      )}
    </>
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
