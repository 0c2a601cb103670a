/** What a run was given and what came of it, at a glance: failure, output, artifacts, decisions, phases, cost, input. */
import { lazy, type ReactNode, Suspense } from 'react'
import { Link } from 'wouter'
import type { Payload } from '../../../../core/protocol/form.ts'
import { isTerminal } from '../../../../core/protocol/status.ts'
import { cleanLine, cleanText } from '../../../../core/view/clean.ts'
import { isLost } from '../../../../core/view/lost-worker.ts'
import { spendingText } from '../../../../core/view/spending.ts'
import type { Story } from '../../../../core/view/story.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { exactly } from '../../../parts/ago.tsx'
import { Loading } from '../../../parts/notice.tsx'
import { useNow } from '../../../parts/use-now.ts'
import { StatusHistory } from '../timeline/history.tsx'
import { Artifacts } from './artifacts.tsx'
import { Failure } from './failure.tsx'

const Markdown = lazy(() => import('../data/markdown.tsx'))

export function OverviewTab(props: TabProps) {
  const { id, live } = props
  const { story } = live
  if (story === null) return <Loading what="Loading the instance…" />
  const { creation, status, history, output, error } = story
  const last = history.at(-1)
  return (
    <div className="overview">
      <StatusHistory story={story} />
      <div className="overview-columns">
        <div className="overview-main">
          {error !== null && <Failure id={id} error={error} />}
          {isLost({ status, reason: last?.reason }) && (
            <p className="notice">Its worker was lost. Its checkpoint is saved: it continues when it is resumed.</p>
          )}
          {status === 'cancelled' && typeof last?.reason === 'string' && (
            <p className="notice">
              Reason: {last.reason}
              {last.forced === true ? '; its worker was killed' : ''}
            </p>
          )}
          {output !== null && (
            <Part title="Output">
              <div className="overview-output">
                <Suspense fallback={<p>{cleanText(output)}</p>}>
                  <Markdown text={cleanText(output)} />
                </Suspense>
              </div>
            </Part>
          )}
          <Artifacts {...props} story={story} />
          <Decisions story={story} />
          {story.artifacts.length === 0 && output === null && error === null && (
            <Part title="Output">
              <p className="quiet">
                {isTerminal(status) ? 'The run ended without output.' : 'The run has produced no output yet.'}
              </p>
            </Part>
          )}
        </div>
        <div className="overview-side">
          <Phases id={id} story={story} />
          <Cost id={id} story={story} />
          <Input input={creation.input} />
        </div>
      </div>
    </div>
  )
}

export function Part({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  const id = `part-${title.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section className="overview-part" aria-labelledby={id}>
      <div className="section-top">
        <h2 id={id}>{title}</h2>
        {more}
      </div>
      {children}
    </section>
  )
}

function Decisions({ story }: { story: Story }) {
  const made = story.requests.filter((one) => one.status !== 'pending')
  if (made.length === 0) return null
  return (
    <Part title="Decisions">
      <ol className="decisions">
        {made.map((one) => (
          <li key={`${one.id} ${one.asked_at}`} data-decision={one.id}>
            <p>{cleanText(one.prompt)}</p>
            <p className="quiet">
              {one.status === 'answered'
                ? `Answered by ${cleanLine(one.actor ?? 'another consumer')}${one.via === null ? '' : ` (${one.via})`}`
                : 'Withdrawn'}
              {one.answered_at !== null && (
                <>
                  {' '}
                  after {durationText(Date.parse(one.answered_at) - Date.parse(one.asked_at))},{' '}
                  <time dateTime={one.answered_at}>{exactly(one.answered_at)}</time>
                </>
              )}
            </p>
          </li>
        ))}
      </ol>
    </Part>
  )
}

function Phases({ id, story }: { id: string; story: Story }) {
  const now = useNow()
  const { phases, status, endedAt, lastEventAt } = story
  if (phases.length === 0) return null
  const end = isTerminal(status) ? Date.parse(endedAt ?? lastEventAt) : now
  const spans = phases.map((phase, at) => {
    const next = phases[at + 1]
    return { ...phase, ms: Math.max(0, (next === undefined ? end : Date.parse(next.at)) - Date.parse(phase.at)) }
  })
  const longest = Math.max(1, ...spans.map(({ ms }) => ms))
  return (
    <Part title="Phases" more={<Link href={`/instances/${id}/waterfall`}>Waterfall</Link>}>
      <ol className="phases">
        {spans.map(({ name, at, ms }, index) => (
          <li key={`${index} ${at}`} data-current={(index === spans.length - 1 && !isTerminal(status)) || undefined}>
            <span>{cleanLine(name)}</span>
            <span className="quiet">{durationText(ms)}</span>
            <span className="phase-bar" style={{ width: `${(ms / longest) * 100}%` }} aria-hidden="true" />
          </li>
        ))}
      </ol>
    </Part>
  )
}

function Cost({ id, story }: { id: string; story: Story }) {
  const spent = spendingText(story)
  if (spent === undefined) return null
  const count = story.sessions?.length ?? 0
  return (
    <Part
      title="Cost"
      more={
        count > 0 && (
          <Link href={`/instances/${id}/sessions`}>
            {count} {count === 1 ? 'session' : 'sessions'}
          </Link>
        )
      }
    >
      <p>{spent}</p>
    </Part>
  )
}

/** The input as it was given. */
function Input({ input }: { input: Payload }) {
  const pairs = Object.entries(input)
  return (
    <Part title="Input">
      {pairs.length === 0 && <p className="quiet">No input was given.</p>}
      <dl className="overview-facts">
        {pairs.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{cleanText(typeof value === 'string' ? value : JSON.stringify(value))}</dd>
          </div>
        ))}
      </dl>
    </Part>
  )
}
