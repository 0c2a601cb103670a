/** The events in order, with filters, search and the opened event in the address. Only visible rows are rendered. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import type { Tier } from '../../../../core/protocol/event.ts'
import { tierOf } from '../../../../core/protocol/event.ts'
import { isStatus, isTerminal } from '../../../../core/protocol/status.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { exactly } from '../../../parts/ago.tsx'
import { JsonView } from '../../../parts/json-view.tsx'
import { Empty } from '../../../parts/notice.tsx'
import { useNow } from '../../../parts/use-now.ts'
import { EventIcon } from './event-icon.tsx'
import { sinceText, type TimelineItem, TimelineItems } from './timeline-items.ts'

const TIERS: readonly { tier: Tier; label: string }[] = [
  { tier: 1, label: 'Platform' },
  { tier: 2, label: 'Resolver' },
  { tier: 3, label: 'Own events' },
]

/** If the scroll position is within this many pixels of the end, the view follows new events. */
const AT_END_PX = 60
const ROW_PX = 34

export function TimelineTab({ live }: TabProps) {
  const [search, setSearch] = useSearchParams()
  const put = (name: string, value: string) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  const hiddenTiers = search.get('hide') ?? ''
  const tiers = useMemo<ReadonlySet<Tier>>(
    () => new Set(TIERS.map(({ tier }) => tier).filter((tier) => !hiddenTiers.includes(String(tier)))),
    [hiddenTiers],
  )
  const text = search.get('q') ?? ''
  // The event that the address names is opened once, when it has come.
  const wantedSeq = useRef(Number(search.get('open') ?? 'NaN'))
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

  useEffect(() => {
    const seq = wantedSeq.current
    if (Number.isNaN(seq)) return
    follows.current = false
    const at = items.findIndex((item) => item.kind === 'event' && item.firstSeq <= seq && seq <= item.seq)
    const key = items[at]?.key
    if (key === undefined) return
    wantedSeq.current = Number.NaN
    setOpen((before) => new Set([...before, key]))
    list.scrollToIndex(at, { align: 'center' })
  }, [items, list])

  const goTo = (at: number) => {
    if (at < 0) return
    follows.current = at === items.length - 1
    list.scrollToIndex(at, { align: 'center' })
    const key = items[at]?.key
    if (key !== undefined)
      setTimeout(() => box.current?.querySelector<HTMLElement>(`[data-key="${key}"] button`)?.focus(), 50)
  }
  const failure = useMemo(() => items.findIndex((item) => item.kind === 'event' && item.isFailure), [items])
  const toggle = (item: TimelineItem) => {
    const isOpening = !open.has(item.key)
    setOpen((before) => {
      const next = new Set(before)
      if (!next.delete(item.key)) next.add(item.key)
      return next
    })
    put('open', isOpening && item.kind === 'event' ? String(item.firstSeq) : '')
  }
  const { story } = live
  const start = story?.creation.created_at ?? ''
  const end = story !== null && isTerminal(story.status) ? (story.endedAt ?? story.lastEventAt) : null
  return (
    <div className="timeline">
      <div className="timeline-tools" role="group" aria-label="Filter">
        <input
          type="search"
          aria-label="Search the events"
          placeholder="Search the events"
          value={text}
          onChange={(event) => put('q', event.target.value)}
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
                put(
                  'hide',
                  TIERS.map(({ tier: one }) => one)
                    .filter((one) => !next.has(one))
                    .join(''),
                )
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
        <span className="quiet" data-event-count={live.count}>
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
          {list.getVirtualItems().map(({ index, key, start: top }) => {
            const item = items[index]
            if (item === undefined) return null
            return (
              <li
                key={key}
                ref={list.measureElement}
                data-index={index}
                data-key={item.key}
                style={{ transform: `translateY(${top}px)` }}
                aria-setsize={items.length}
                aria-posinset={index + 1}
              >
                <Row item={item} start={start} end={end} isOpen={open.has(item.key)} onToggle={() => toggle(item)} />
              </li>
            )
          })}
        </ol>
      </div>
    </div>
  )
}

interface RowProps {
  item: TimelineItem
  /** When the run began, and when it ended. */
  start: string
  end: string | null
  isOpen: boolean
  onToggle: () => void
}

function Row({ item, start, end, isOpen, onToggle }: RowProps) {
  if (item.kind === 'phase') {
    const { name, at, until } = item
    return (
      <div className="span">
        <strong>{name}</strong>
        <PhaseTime at={at} until={until ?? end} />
      </div>
    )
  }
  const { seq, event, line, folded, firstSeq } = item
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
        <EventIcon type={event.event_type} />
        <time dateTime={event.timestamp} title={exactly(event.timestamp)}>
          {sinceText(event.timestamp, start)}
        </time>
        <span className="event-words">
          <span className="event-text">{line === '' ? event.event_type : line}</span>
          {folded > 0 && <span className="event-folded">and {folded} before it</span>}
        </span>
        <span className="event-type">{event.event_type}</span>
      </button>
      {isOpen && (
        <div className="event-more">
          <p className="quiet">
            {folded > 0 ? `${firstSeq} to ${seq}, the last:` : seq} · {event.event_type} · {event.timestamp}
          </p>
          <JsonView value={event.data} label={`Data of event ${seq}`} />
        </div>
      )}
    </div>
  )
}

function PhaseTime({ at, until }: { at: string; until: string | null }) {
  const now = useNow()
  const end = until === null ? now : Date.parse(until)
  return <span className="quiet">{durationText(end - Date.parse(at))}</span>
}
