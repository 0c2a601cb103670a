/** What took how long: all parts of a run as bars on one linear time axis that can be zoomed, with an inspector beside it. */
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { isTerminal } from '../../../../core/protocol/status.ts'
import { clockText } from '../../../../core/view/time-words.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Empty, Loading } from '../../../parts/notice.tsx'
import { useNow } from '../../../parts/use-now.ts'
import {
  arrange,
  BAR_KINDS,
  type Bar,
  type BarKind,
  EventBars,
  exactText,
  placeOf,
  storyBars,
  ticksOf,
} from './waterfall-bars.ts'

const WORDS: Readonly<Record<BarKind, string>> = {
  queue: 'Queue',
  setup: 'Setup',
  worker: 'Workers',
  phase: 'Phases',
  node: 'Nodes',
  session: 'Sessions',
  wait: 'Waits for people',
  git: 'Git',
}

const ZOOM_MAX = 64
const TICKS = 6
/** More rows are not drawn: the last ones of each kind are kept. */
const ROWS_MAX = 300

export default function WaterfallTab({ id, live }: TabProps) {
  const [search, setSearch] = useSearchParams()
  const [zoom, setZoom] = useState(1)
  const now = useNow()
  const reader = useMemo(() => new EventBars(), [live.events])
  const { story } = live
  const fromEvents = reader.upTo(live.events)
  if (story === null) return <Loading what="Loading…" />
  const end = isTerminal(story.status) ? 0 : now
  const { from, until, bars } = arrange([...fromEvents, ...storyBars(story)], story, end)
  const chosen = bars.find((bar) => bar.key === search.get('bar'))
  const choose = (key: string | undefined) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (key === undefined) next.delete('bar')
        else next.set('bar', key)
        return next
      },
      { replace: true },
    )
  if (bars.length === 0) return <Empty>Nothing has begun yet.</Empty>
  return (
    <div className="waterfall" data-zoom={zoom}>
      <div className="waterfall-tools" role="group" aria-label="Time axis">
        <button
          type="button"
          className="button button-small"
          disabled={zoom === 1}
          onClick={() => setZoom(Math.max(1, zoom / 2))}
        >
          Zoom out
        </button>
        <button
          type="button"
          className="button button-small"
          disabled={zoom === ZOOM_MAX}
          onClick={() => setZoom(Math.min(ZOOM_MAX, zoom * 2))}
        >
          Zoom in
        </button>
        <button type="button" className="button button-small" disabled={zoom === 1} onClick={() => setZoom(1)}>
          Fit
        </button>
        <span className="quiet">
          {exactText(until - from)} from {clockText(from)}
        </span>
      </div>
      <div className="waterfall-parts" data-inspecting={chosen === undefined ? undefined : ''}>
        <Chart bars={bars} from={from} until={until} now={now} zoom={zoom} chosen={chosen?.key} onChoose={choose} />
        {chosen !== undefined && (
          <BarInspector key={chosen.key} id={id} bar={chosen} start={from} onClose={() => choose(undefined)} />
        )}
      </div>
    </div>
  )
}

interface ChartProps {
  bars: readonly Bar[]
  from: number
  until: number
  now: number
  zoom: number
  chosen: string | undefined
  onChoose: (key: string) => void
}

function Chart({ bars, from, until, now, zoom, chosen, onChoose }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  useMiddle(box, zoom)
  const length = until - from
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div className="waterfall-box" ref={box} role="region" aria-label="Waterfall" tabIndex={0}>
      <div className="waterfall-inner" style={{ '--zoom': zoom } as React.CSSProperties}>
        <div className="waterfall-axis" aria-hidden="true">
          {ticksOf(length, TICKS * zoom).map((tick) => (
            <span key={tick} style={{ left: `${(tick / length) * 100}%` }}>
              {tick === 0 ? '0' : exactText(tick)}
            </span>
          ))}
        </div>
        {BAR_KINDS.map((kind) => {
          const all = bars.filter((bar) => bar.kind === kind)
          const shown = all.slice(-ROWS_MAX)
          if (shown.length === 0) return null
          return (
            <section key={kind} aria-label={WORDS[kind]} data-kind={kind}>
              <p className="waterfall-kind">
                {WORDS[kind]}
                {shown.length < all.length && ` (the last ${shown.length} of ${all.length})`}
              </p>
              <ul>
                {shown.map((bar) => (
                  <BarRow
                    key={bar.key}
                    bar={bar}
                    place={placeOf(bar, from, until, now)}
                    time={exactText((bar.until ?? now) - bar.from)}
                    isChosen={bar.key === chosen}
                    onChoose={() => onChoose(bar.key)}
                  />
                ))}
              </ul>
            </section>
          )
        })}
      </div>
    </div>
  )
}

interface BarRowProps {
  bar: Bar
  place: { left: number; width: number }
  time: string
  isChosen: boolean
  onChoose: () => void
}

function BarRow({ bar, place: { left, width }, time, isChosen, onChoose }: BarRowProps) {
  const isMoment = bar.until === bar.from
  return (
    <li>
      <button
        type="button"
        className="bar-row"
        data-bar={bar.key}
        data-outcome={bar.outcome}
        aria-pressed={isChosen}
        onClick={onChoose}
      >
        <span className="bar-name" title={bar.name}>
          {bar.name}
        </span>
        <span className="bar-track">
          <span
            className="bar-span"
            data-moment={isMoment || undefined}
            style={{ left: `${left}%`, width: `${width}%` }}
          />
          <span
            className="bar-time"
            data-inside={left + width > 80 || undefined}
            style={left + width > 80 ? { right: `${100 - left}%` } : { left: `${left + width}%` }}
          >
            {isMoment ? '' : time}
            {bar.outcome !== 'done' && <span className="out-of-sight"> {bar.outcome}</span>}
          </span>
        </span>
      </button>
    </li>
  )
}

/** Keeps the time in the middle where it is when the zoom changes. */
function useMiddle(box: RefObject<HTMLDivElement | null>, zoom: number): void {
  const before = useRef(zoom)
  useEffect(() => {
    const element = box.current
    if (element === null || before.current === zoom) return
    const middle = (element.scrollLeft + element.clientWidth / 2) * (zoom / before.current)
    element.scrollLeft = middle - element.clientWidth / 2
    before.current = zoom
  }, [zoom, box])
}

interface BarInspectorProps {
  id: string
  bar: Bar
  /** When the run began. */
  start: number
  onClose: () => void
}

function BarInspector({ id, bar, start, onClose }: BarInspectorProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const now = useNow()
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
  const session = bar.facts.find(([name]) => name === 'Session')?.[1]
  const isMoment = bar.until === bar.from
  const facts: (readonly [string, string])[] = [
    ['Kind', WORDS[bar.kind]],
    ['Result', bar.outcome],
    [isMoment ? 'At' : 'Began', `${clockText(bar.from, true)} (+${exactText(bar.from - start)})`],
    ...(isMoment ? [] : ([['Took', exactText((bar.until ?? now) - bar.from)]] as const)),
    ...bar.facts.filter(([name, value]) => name !== 'Session' && value !== ''),
  ]
  return (
    <section
      className="bar-inspector"
      aria-labelledby="bar-inspected"
      data-inspected={bar.key}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <div className="section-top">
        <h2 id="bar-inspected" ref={heading} tabIndex={-1}>
          {bar.name}
        </h2>
        <button type="button" className="button button-small" onClick={onClose}>
          Close
        </button>
      </div>
      <dl className="overview-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {session !== undefined && (
        <Link href={`/instances/${id}/sessions?session=${encodeURIComponent(session)}`}>Open its transcript</Link>
      )}
      {bar.seq !== undefined && <Link href={`/instances/${id}/timeline?open=${bar.seq}`}>Show its event</Link>}
      {bar.kind === 'node' && <Link href={`/instances/${id}/graph`}>Show the graph</Link>}
    </section>
  )
}
