/** The compact header of an instance: status, phase, progress, duration, connection, and actions. */

import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { isTerminal } from '../../../core/protocol/status.ts'
import { spendingText } from '../../../core/view/spending.ts'
import type { Story } from '../../../core/view/story.ts'
import { durationText } from '../../../core/view/time-words.ts'
import { rename } from '../../api/calls.ts'
import { sentenceOf } from '../../api/problem.ts'
import type { Connection } from '../../live/connection.ts'
import { ConnectionChip } from '../../parts/connection-chip.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { StatusMark } from '../../parts/status.tsx'
import { useNow } from '../../parts/use-now.ts'
import { useMayAct } from '../../parts/use-session.ts'
import { ActionBar } from './action-bar.tsx'

interface HeaderProps {
  id: string
  story: Story
  connection: Connection
}

export function InstanceHeader({ id, story, connection }: HeaderProps) {
  const { creation, status, phase, progress, setup } = story
  const { resolver } = creation
  const hasEnded = isTerminal(status)
  const spent = spendingText(story)
  return (
    <div className="instance-head">
      <div className="instance-line">
        <StatusMark status={status} queue={story.queue} />
        {phase !== null && (
          <span className="phase">
            <span className="quiet">phase</span> {phase}
          </span>
        )}
        {!hasEnded && progress !== null && <Progress progress={progress} />}
        {!hasEnded && setup?.state === 'running' && <Cloning setup={setup} />}
        <span className="elapsed">
          <span className="quiet">{hasEnded ? 'took' : 'for'}</span> <Elapsed story={story} />
        </span>
        <span className="quiet">
          <Link href={`/resolvers/${encodeURIComponent(resolver.name)}`}>{resolver.name}</Link> {resolver.version}
        </span>
        {spent !== undefined && (
          <span className="quiet" data-spent="">
            {spent}
          </span>
        )}
        <ConnectionChip connection={connection} />
      </div>
      <div className="instance-acts">
        <ActionBar
          id={id}
          status={status}
          supportsResume={resolver.manifest.supports_resume === true}
          stop={story.stop}
        />
        {hasEnded && (
          <Link className="button" href={`/?resolver=${encodeURIComponent(resolver.name)}&again=${id}`}>
            Run again
          </Link>
        )}
        <CopyButton text={id}>Copy id</CopyButton>
      </div>
    </div>
  )
}

function Elapsed({ story: { creation, status, endedAt, lastEventAt } }: { story: Story }) {
  const now = useNow()
  const end = isTerminal(status) ? Date.parse(endedAt ?? lastEventAt) : Math.max(now, Date.parse(lastEventAt))
  return <>{durationText(end - Date.parse(creation.created_at))}</>
}

function Progress({ progress: { fraction, milestone, label } }: { progress: NonNullable<Story['progress']> }) {
  const text = label ?? milestone
  return (
    <div className="progress">
      <progress
        aria-label={text === '' ? 'Progress' : text}
        {...(fraction === null ? {} : { value: fraction, max: 1 })}
      />
      <span>
        {text} {fraction !== null && <span className="quiet">{Math.round(fraction * 100)} %</span>}
      </span>
    </div>
  )
}

/** A repository that is being cloned, during the setup. */
function Cloning({ setup }: { setup: NonNullable<Story['setup']> }) {
  const { fraction, description, at } = setup
  if (fraction === undefined || fraction === null) return null
  return <Progress progress={{ fraction, milestone: description ?? 'Setup', label: null, at }} />
}

/** The title with the form to rename the instance. */
export function InstanceName({ id, name, onRenamed }: { id: string; name: string | null; onRenamed: () => void }) {
  const [draft, setDraft] = useState<string | null>(null)
  const [trouble, setTrouble] = useState<string | null>(null)
  const mayAct = useMayAct()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (draft === null) return
    try {
      await rename(id, draft.trim() === '' ? null : draft.trim())
      setDraft(null)
      setTrouble(null)
      onRenamed()
    } catch (error) {
      setTrouble(sentenceOf(error))
    }
  }
  if (draft === null) {
    return (
      <span className="instance-name">
        <span className={name === null ? 'mono' : undefined}>{name ?? id}</span>
        {mayAct && (
          <button type="button" className="button button-quiet button-small" onClick={() => setDraft(name ?? '')}>
            <Icon name="pencil" />
            <span className="out-of-sight">Rename</span>
          </button>
        )}
      </span>
    )
  }
  return (
    <form className="rename" onSubmit={(event) => void submit(event)}>
      <input
        aria-label="Name"
        // biome-ignore lint/a11y/noAutofocus: the user pressed the button that it replaces.
        autoFocus
        value={draft}
        maxLength={200}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && setDraft(null)}
      />
      <button type="submit" className="button button-small">
        Save
      </button>
      {trouble !== null && <span role="alert">{trouble}</span>}
    </form>
  )
}
