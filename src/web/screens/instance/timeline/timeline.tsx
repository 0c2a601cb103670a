/** The timeline of events, with filters and search. Only visible rows are rendered. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { Tier } from '../../../../core/protocol/event.ts'
import { tierOf } from '../../../../core/protocol/event.ts'
import { isStatus } from '../../../../core/protocol/status.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { JsonView } from '../../../parts/json-view.tsx'
import { Empty } from '../../../parts/notice.tsx'
import { type TimelineItem, TimelineItems } from './timeline-items.ts'

const TIERS: readonly { tier: Tier; label: string }[] = [
  { tier: 1, label: 'Platform' },
  { tier: 2, label: 'Resolver' },
  { tier: 3, label: 'Own events' },
]

/** If the scroll position is within this many pixels of the end, the view follows new events. */
const AT_END_PX = 60
const ROW_PX = 34

export function TimelineTab({ live }: TabProps) {
  const [tiers, setTiers] = useState<ReadonlySet<Tier>>(new Set([1, 2, 3]))
  const [text, setText] = useState('')
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const wanted = useDeferredValue(text.trim().toLowerCase())
  const maker = useMemo(() => new TimelineItems({ tiers, text: wanted }), [tiers, wanted, live.events])
  const items = useMemo(() => maker.upTo(live.events), [maker, live.count])
  const box = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    getItemKey: (at) => items[at]?.key ?? at,
    overscan: 12,
  })
  useEffect(() => {
    if (follows.current && items.length > 0) list.scrollToIndex(items.length - 1, { align: 'end' })
  }, [items.length, list])

  const goTo = (at: number) => {
    if (at < 0) return
    follows.current = at === items.length - 1
    list.scrollToIndex(at, { align: 'center' })
    const key = items[at]?.key
    if (key !== undefined)
      setTimeout(() => box.current?.querySelector<HTMLElement>(`[data-key="${key}"] button`)?.focus(), 50)
  }
  const failure = useMemo(() => items.findIndex((item) => item.kind === 'event' && item.isFailure), [items])
  const toggle = (key: string) =>
    setOpen((before) => {
      const next = new Set(before)
      if (!next.delete(key)) next.add(key)
      return next
    })
  return (
    <div className="timeline">
      <div className="timeline-tools" role="group" aria-label="Filter">
        <input
          type="search"
          aria-label="Search the events"
          placeholder="Search the events"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {TIERS.map(({ tier, label }) => (
          <label key={tier} className="toggle">
            <input
              type="checkbox"
              checked={tiers.has(tier)}
              onChange={(event) => {
                const next = new Set(tiers)
                if (event.target.checked) next.add(tier)
                else next.delete(tier)
                setTiers(next)
              }}
            />
            {label}
          </label>
        ))}
        {failure !== -1 && (
          <button type="button" className="button button-small" onClick={() => goTo(failure)}>
            Jump to failure
          </button>
        )}
        <button
          type="button"
          className="button button-small"
          onClick={() => goTo(items.length - 1)}
          disabled={items.length === 0}
        >
          Newest
        </button>
        <span className="quiet" role="status">
          {live.count} {live.count === 1 ? 'event' : 'events'}
        </span>
      </div>
      {items.length === 0 && <Empty>{live.count === 0 ? 'No events yet.' : 'No matching events.'}</Empty>}
      <div
        className="timeline-box"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        role="region"
        aria-label="Events"
        hidden={items.length === 0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          follows.current = scrollHeight - scrollTop - clientHeight < AT_END_PX
        }}
      >
        <ol style={{ height: list.getTotalSize() }} className="timeline-list">
          {list.getVirtualItems().map(({ index, key, start }) => {
            const item = items[index]
            if (item === undefined) return null
            return (
              <li
                key={key}
                ref={list.measureElement}
                data-index={index}
                data-key={item.key}
                style={{ transform: `translateY(${start}px)` }}
                aria-setsize={items.length}
                aria-posinset={index + 1}
              >
                <Row item={item} isOpen={open.has(item.key)} onToggle={() => toggle(item.key)} />
              </li>
            )
          })}
        </ol>
      </div>
    </div>
  )
}

function Row({ item, isOpen, onToggle }: { item: TimelineItem; isOpen: boolean; onToggle: () => void }) {
  if (item.kind === 'phase') {
    const { name, at, until } = item
    return (
      <div className="span">
        <strong>{name}</strong>
        <span className="quiet">{until === null ? '' : durationText(Date.parse(until) - Date.parse(at))}</span>
      </div>
    )
  }
  const { seq, event, line } = item
  const { to } = event.data
  const status = event.event_type === 'platform.instance.status_changed' && isStatus(to) ? to : undefined
  return (
    <div
      className="event"
      data-tier={tierOf(event.event_type)}
      data-status={status}
      data-seq={seq}
      data-failure={item.isFailure || undefined}
      data-words={item.isKnown || undefined}
    >
      <button type="button" className="event-line" aria-expanded={isOpen} onClick={onToggle}>
        <time dateTime={event.timestamp}>{clock(event.timestamp)}</time>
        <span className="event-text">{line === '' ? event.event_type : line}</span>
        <span className="event-type">{event.event_type}</span>
      </button>
      {isOpen && (
        <div className="event-more">
          <p className="quiet">
            {seq} · {event.event_type} · {event.timestamp}
          </p>
          <JsonView value={event.data} label={`Data of event ${seq}`} />
        </div>
      )}
    </div>
  )
}

function clock(at: string): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleTimeString(undefined, { hour12: false })
}
