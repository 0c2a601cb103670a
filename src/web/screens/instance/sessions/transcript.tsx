/** What one session did: prompts and answers, and between them the steps of the model with its calls of tools, folded. */
import { useState } from 'react'
import type { SessionSummary, TranscriptEvent } from '../../../../core/protocol/session/session.ts'
import { toldImages } from '../../../../core/protocol/session/told-images.ts'
import { cleanLine, cleanText } from '../../../../core/view/clean.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { type Entry, type Growth, SHOWN_MAX, useTranscript } from './use-transcript.ts'

const TEXT_MAX = 8_000
const SUMMARY_MAX = 120

interface TranscriptProps {
  id: string
  session: SessionSummary
  growth: Growth
}

export function Transcript({ id, session, growth }: TranscriptProps) {
  const { isRunning } = growth
  const { entries, left, isLoadingOlder, trouble, loadOlder } = useTranscript(id, session.id, growth)
  if (entries === undefined)
    return trouble === undefined ? <Loading what="Loading the transcript…" /> : <Trouble error={trouble} />
  const results = new Map(entries.filter(isResult).map(({ event }) => [event.data['call_id'], event]))
  const ran = new Set(
    entries.filter(({ event }) => event.type === 'tool:pre').map(({ event }) => event.data['call_id']),
  )
  const inputs = inputsOf(entries)
  // A call that never ran, such as of a tool that is not there, has a result alone.
  const isShown = (entry: Entry) => (isResult(entry) ? !ran.has(entry.event.data['call_id']) : !isStart(entry))
  const shown = entries.filter(isShown)
  return (
    <>
      {trouble !== undefined && <Trouble error={trouble} />}
      {left > 0 && (
        <p className="transcript-older">
          <span className="quiet">{left.toLocaleString('en')} older entries are not shown.</span>{' '}
          <button
            type="button"
            className="button button-small"
            disabled={isLoadingOlder}
            onClick={() => void loadOlder()}
          >
            {isLoadingOlder ? 'Loading…' : `Show ${Math.min(left, SHOWN_MAX).toLocaleString('en')} older entries`}
          </button>
        </p>
      )}
      {shown.length === 0 && <Empty>Nothing yet.</Empty>}
      <ol className="transcript" aria-label={`Transcript of ${session.id}`}>
        {shown.map(({ at, event }) => (
          <li key={at} className="transcript-entry" data-entry={event.type}>
            <EntryView event={event} result={results.get(event.data['call_id'])} inputs={inputs} />
          </li>
        ))}
      </ol>
      {isRunning && (
        <p className="quiet" role="status">
          The session is running.
        </p>
      )}
    </>
  )
}

function isResult({ event }: Entry): boolean {
  return event.type === 'tool:post' || event.type === 'tool:error'
}

function isStart({ event }: Entry): boolean {
  return event.type === 'session:start'
}

/** What the model wanted of each call, by its id. */
function inputsOf(entries: readonly Entry[]): ReadonlyMap<unknown, unknown> {
  const steps = entries.map(({ event }) => event.data['calls']).filter((calls) => Array.isArray(calls))
  const calls = steps.flat().filter((call) => typeof call === 'object' && call !== null) as Record<string, unknown>[]
  return new Map(calls.map(({ id, input }) => [id, input]))
}

interface EntryProps {
  event: TranscriptEvent
  result: TranscriptEvent | undefined
  inputs: ReadonlyMap<unknown, unknown>
}

function EntryView({ event, result, inputs }: EntryProps) {
  const { type, data } = event
  switch (type) {
    case 'prompt:submit':
      return (
        <Said
          title={data['by'] === undefined ? 'Prompt' : 'Said meanwhile'}
          text={[textOf(data['prompt']), ...toldImages(data['images'])].join('\n')}
        />
      )
    case 'content_block:end':
      return <Step data={data} />
    case 'tool:pre':
      return <Call data={data} result={result} />
    case 'tool:post':
    case 'tool:error':
      return <Call data={{ ...data, input: inputs.get(data['call_id']) }} result={event} />
    case 'prompt:complete':
      return data['success'] === true ? (
        <Said title={`Answer${after(data)}`} text={textOf(data['output'])} />
      ) : (
        <Said
          title={`Failed${after(data)}`}
          text={textOf((data['error'] as Record<string, unknown> | undefined)?.['detail'])}
        />
      )
    case 'context:post_compact':
      return <p className="quiet">The history was made shorter.</p>
    case 'provider:retry':
      return <p className="quiet">The model is asked again: {cleanLine(textOf(data['reason']))}</p>
    case 'guardian:action':
      return (
        <p className="session-guardian">Guardian: {cleanLine(`${textOf(data['action'])} ${textOf(data['detail'])}`)}</p>
      )
    default:
      return <p className="quiet">{type}</p>
  }
}

function after(data: TranscriptEvent['data']): string {
  return typeof data['duration_ms'] === 'number' ? ` after ${durationText(data['duration_ms'])}` : ''
}

function Step({ data }: { data: TranscriptEvent['data'] }) {
  const usage = data['usage'] as Record<string, unknown> | undefined
  const count = (name: string) => (typeof usage?.[name] === 'number' ? usage[name].toLocaleString('en') : '?')
  const cost = typeof data['cost_usd'] === 'number' ? `, $${data['cost_usd'].toFixed(4)}` : ''
  const text = textOf(data['text'])
  return (
    <>
      <p className="quiet">
        Step {textOf(data['step'])}: {count('input_tokens')} tokens in, {count('output_tokens')} out{cost}
      </p>
      {text !== '' && <Text text={text} />}
    </>
  )
}

function Call({ data, result }: { data: TranscriptEvent['data']; result: TranscriptEvent | undefined }) {
  const input = textOf(data['input'])
  const state = result === undefined ? 'no result yet' : result.type === 'tool:error' ? 'failed' : 'done'
  return (
    <details className="session-call" data-state={state}>
      <summary>
        <strong>{cleanLine(textOf(data['tool']))}</strong>{' '}
        <span className="session-input">{cleanLine(input).slice(0, SUMMARY_MAX)}</span>{' '}
        <span className="quiet">{state}</span>
      </summary>
      <h3>Input</h3>
      <Text text={input} />
      {result !== undefined && (
        <>
          <h3>Output</h3>
          <Text text={textOf(result.data['output'])} />
        </>
      )}
    </details>
  )
}

function Said({ title, text }: { title: string; text: string }) {
  return (
    <>
      <h3>{title}</h3>
      <Text text={text} />
    </>
  )
}

/** Text nodes only. */
function Text({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  const isLong = text.length > TEXT_MAX
  return (
    <>
      <pre className="session-text">{cleanText(isWhole || !isLong ? text : text.slice(0, TEXT_MAX))}</pre>
      {isLong && !isWhole && (
        <button type="button" className="button button-quiet" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  )
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
