/** Two runs beside each other: input, phases, cost and output, with what differs marked in words. The address names both. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { InstanceRecord } from '../../../core/protocol/instance.ts'
import { isTerminal } from '../../../core/protocol/status.ts'
import { cleanLine, cleanText } from '../../../core/view/clean.ts'
import { spendingText } from '../../../core/view/spending.ts'
import type { Story } from '../../../core/view/story.ts'
import { durationText } from '../../../core/view/time-words.ts'
import { fetchStory } from '../../api/calls.ts'
import { instanceQuery } from '../../api/queries.ts'
import { exactly } from '../../parts/ago.tsx'
import { Loading, Trouble } from '../../parts/notice.tsx'
import { Screen } from '../../parts/screen.tsx'
import { StatusMark } from '../../parts/status.tsx'
import { useNow } from '../../parts/use-now.ts'
import { inputPairs, type Pair, pairOf, phasePairs, phaseTimes } from './differences.ts'

const ID = /^[0-9a-f]{12}$/

interface Run {
  record: InstanceRecord
  story: Story
}

export default function CompareScreen() {
  const [search] = useSearchParams()
  const left = useRun(search.get('left') ?? '')
  const right = useRun(search.get('right') ?? '')
  const error = left.error ?? right.error
  return (
    <Screen title="Compare two runs" place="/instances/compare">
      {error !== null ? (
        <Trouble error={error}>
          <Link href="/instances">All instances</Link>
        </Trouble>
      ) : left.run === null || right.run === null ? (
        <Loading what="Loading the two runs…" />
      ) : (
        <Both left={left.run} right={right.run} />
      )}
    </Screen>
  )
}

function useRun(id: string): { run: Run | null; error: unknown } {
  const isId = ID.test(id)
  const record = useQuery({ ...instanceQuery(id), enabled: isId })
  const story = useQuery({ queryKey: ['story', id], queryFn: () => fetchStory(id), enabled: isId })
  if (!isId) return { run: null, error: 'The address must name two instances: ?left=ID&right=ID.' }
  const run = record.data === undefined || story.data === undefined ? null : { record: record.data, story: story.data }
  return { run, error: run === null ? (record.error ?? story.error) : null }
}

function Both({ left, right }: { left: Run; right: Run }) {
  const now = useNow()
  const took = ({ record: { created_at, ended_at, status } }: Run) =>
    durationText((isTerminal(status) && ended_at !== null ? Date.parse(ended_at) : now) - Date.parse(created_at))
  const both = (name: string, of: (run: Run) => string | null) => pairOf(name, of(left), of(right))
  const facts = [
    both('Resolver', ({ record }) => `${record.resolver} ${record.resolver_version}`),
    both('Started', ({ record }) => exactly(record.created_at)),
    both('Duration', took),
    both('Cost and tokens', ({ story }) => spendingText(story) ?? null),
    both('Failure', ({ record }) => record.error?.detail ?? null),
  ]
  const phases = phasePairs(phaseTimes(left.story, now), phaseTimes(right.story, now), durationText)
  return (
    <div className="compare">
      <div className="compare-heads">
        <span />
        <Head run={left} other={right} />
        <Head run={right} other={left} />
      </div>
      <Part title="Run" pairs={facts} />
      <Part title="Input" pairs={inputPairs(left.record.input, right.record.input)} />
      <Part title="Phases" pairs={phases} />
      <Part title="Output" pairs={[both('Output', ({ record }) => record.output)]} />
    </div>
  )
}

function Head({ run: { record }, other }: { run: Run; other: Run }) {
  const { instance_id: id, name, status, resolver } = record
  return (
    <div className="compare-head">
      <Link href={`/instances/${id}/timeline`}>{cleanLine(name ?? id)}</Link>
      <StatusMark status={status} />
      {record.parent_id === other.record.instance_id && <span className="quiet">repeats the other</span>}
      <Link className="button button-small" href={`/?resolver=${encodeURIComponent(resolver)}&again=${id}`}>
        Run again<span className="out-of-sight"> {cleanLine(name ?? id)}</span>
      </Link>
    </div>
  )
}

function Part({ title, pairs }: { title: string; pairs: readonly Pair[] }) {
  const changed = pairs.filter(({ isSame }) => !isSame).length
  if (pairs.length === 0) return null
  return (
    <section aria-labelledby={`part-${title}`}>
      <h2 id={`part-${title}`}>
        {title}{' '}
        <span className="quiet">{changed === 0 ? 'same' : `${changed} ${changed === 1 ? 'differs' : 'differ'}`}</span>
      </h2>
      <table className="compare-table">
        <tbody>
          {pairs.map(({ name, left, right, isSame }) => (
            <tr key={name} data-differs={isSame ? undefined : ''}>
              <th scope="row">
                {cleanLine(name)}
                {!isSame && <span className="out-of-sight"> (differs)</span>}
              </th>
              <Value text={left} />
              <Value text={right} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Value({ text }: { text: string | null }): ReactNode {
  return <td>{text === null || text === '' ? <span className="quiet">–</span> : cleanText(text)}</td>
}
