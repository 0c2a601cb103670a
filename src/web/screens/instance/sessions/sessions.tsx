/**
 * The LLM sessions of an instance (docs/sessions.md): what each used and cost, and what one of them did, live while it runs. All text is
 * that of a model, a tool or a repository (threats UI-1).
 */
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import type { SessionKind, SessionSummary } from '../../../../core/protocol/session/session.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Empty } from '../../../parts/notice.tsx'
import { Transcript } from './transcript.tsx'
import type { Growth } from './use-transcript.ts'
import '../../../styles/sessions.css'

const KIND_WORDS: Readonly<Record<SessionKind, string>> = {
  live: 'A model answered.',
  scripted: 'Scripted model: its answers were written in advance; its tools ran for real.',
  replayed: 'Recorded model: its answers are those of an earlier run; its tools ran for real.',
}

export default function SessionsTab({ id, live }: TabProps) {
  const sessions = live.story?.sessions ?? []
  const [search] = useSearchParams()
  const [chosen, setChosen] = useState<string | undefined>(search.get('session') ?? undefined)
  const shown = sessions.find((one) => one.id === chosen) ?? sessions.at(-1)
  if (shown === undefined) {
    const hasEnded = (live.story?.endedAt ?? null) !== null
    return <Empty>{hasEnded ? 'This run opened no sessions.' : 'This run has opened no sessions yet.'}</Empty>
  }
  const growth: Growth = {
    isRunning: shown.status === 'running',
    bytes: live.transcripts[shown.id],
    looks: live.looks,
  }
  return (
    <div className="sessions">
      <table className="sessions-table" aria-label="LLM sessions">
        <thead>
          <tr>
            {['Session', 'Status', 'Model', 'Steps', 'Tokens in', 'Tokens out', 'Cost', 'Time'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sessions.map((one) => (
            <Row key={one.id} session={one} isShown={one.id === shown.id} onChoose={() => setChosen(one.id)} />
          ))}
        </tbody>
      </table>
      <section aria-label={`Session ${shown.id}`} data-session={shown.id}>
        <h2 className="session-name">{shown.id}</h2>
        <p className="quiet">{KIND_WORDS[shown.kind]}</p>
        {shown.error !== null && <p className="session-error">{cleanLine(shown.error.detail)}</p>}
        <Transcript key={shown.id} id={id} session={shown} growth={growth} />
      </section>
    </div>
  )
}

interface RowProps {
  session: SessionSummary
  isShown: boolean
  onChoose: () => void
}

function Row({ session, isShown, onChoose }: RowProps) {
  const { id, status, model, kind, steps, usage, cost_usd: cost, started_at, ended_at, parent_id } = session
  const time = ended_at === null ? '–' : durationText(Date.parse(ended_at) - Date.parse(started_at))
  return (
    <tr data-row={id} aria-current={isShown ? 'true' : undefined}>
      <th scope="row" className={parent_id === null ? undefined : 'session-child'}>
        <button type="button" className="button button-quiet" aria-pressed={isShown} onClick={onChoose}>
          {id}
        </button>
      </th>
      <td data-label="Status">{status}</td>
      <td data-label="Model">
        {cleanLine(model)}
        {kind !== 'live' && <span className="session-kind">{kind}</span>}
      </td>
      <td data-label="Steps">{steps}</td>
      <td data-label="Tokens in">{usage.input_tokens.toLocaleString('en')}</td>
      <td data-label="Tokens out">{usage.output_tokens.toLocaleString('en')}</td>
      <td data-label="Cost">{cost === null ? 'unknown' : `$${cost.toFixed(4)}`}</td>
      <td data-label="Time">{time}</td>
    </tr>
  )
}
