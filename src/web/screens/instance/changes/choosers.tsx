/** Chooses the repository, what it is compared with, and which state of it is shown. */
import { type ReactNode, useId } from 'react'
import type { ChangedRepo, DiffBase, RepoHistory } from '../../../../core/protocol/changes.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { clockText } from '../../../../core/view/time-words.ts'
import type { Choices } from './use-choice.ts'

interface ChoosersProps {
  repo: ChangedRepo
  repos: readonly ChangedRepo[]
  history: RepoHistory | undefined
  hasEnded: boolean
  choices: Choices
}

export function Choosers({ repo, repos, history, hasEnded, choices: { choice, choose } }: ChoosersProps) {
  const hasPushed = repo.pushed !== null
  const snapshots = (history?.snapshots ?? []).toReversed()
  return (
    <div className="changes-tools" role="group" aria-label="What is shown">
      {repos.length > 1 && (
        <Chooser label="Repository" value={repo.name} onChoose={(name) => choose({ repo: name, file: null, at: '' })}>
          {repos.map(({ name }) => (
            <option key={name} value={name}>
              {cleanLine(name)}
            </option>
          ))}
        </Chooser>
      )}
      <Chooser label="Show" value={choice.at} onChoose={(at) => choose({ at })}>
        <option value="">{hasEnded ? 'the work at the end' : 'the work as it is now'}</option>
        <option value="pushed" disabled={!hasPushed}>
          {hasPushed ? 'the pushed branch' : 'the pushed branch (nothing was pushed)'}
        </option>
        {snapshots.length > 0 && (
          <optgroup label="Snapshots">
            {snapshots.map(({ seq, cause, at }) => (
              <option key={seq} value={String(seq)}>
                {clockText(at)} {cleanLine(cause).slice(0, 80).toWellFormed()} ({seq})
              </option>
            ))}
          </optgroup>
        )}
        {/* An address may name a snapshot that is not listed: the server says so. */}
        {/^\d/.test(choice.at) && !snapshots.some(({ seq }) => String(seq) === choice.at) && (
          <option value={choice.at}>snapshot {choice.at}</option>
        )}
      </Chooser>
      <Chooser label="Compare with" value={choice.base} onChoose={(base) => choose({ base: base as DiffBase })}>
        <option value="start">the start of the work</option>
        <option value="upstream">the upstream{repo.base === null ? '' : ` (${cleanLine(repo.base)})`}</option>
        <option value="pushed" disabled={!hasPushed}>
          {hasPushed ? 'the pushed branch' : 'the pushed branch (nothing was pushed)'}
        </option>
      </Chooser>
    </div>
  )
}

interface ChooserProps {
  label: string
  value: string
  onChoose: (value: string) => void
  children: ReactNode
}

function Chooser({ label, value, onChoose, children }: ChooserProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChoose(event.target.value)}>
        {children}
      </select>
    </div>
  )
}
