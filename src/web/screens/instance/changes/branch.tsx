/** The branch of the work: what was pushed, the pull requests of it, and the form that promotes it. */
import { useRef, useState } from 'react'
import type { ChangedRepo, RepoCommit, RepoHistory } from '../../../../core/protocol/changes.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { plainCommand } from '../../../../core/view/command-line.ts'
import type { Story } from '../../../../core/view/story.ts'
import { Ago } from '../../../parts/ago.tsx'
import { CopyButton } from '../../../parts/copy-button.tsx'
import { Trouble } from '../../../parts/notice.tsx'
import { useMayAct } from '../../../parts/use-session.ts'
import { hostOf, OutsideLink } from './outside-link.tsx'
import { Promotion } from './promotion.tsx'
import { several } from './promotion-checks.ts'
import type { Promoted } from './use-repo-news.ts'

type Pull = NonNullable<Story['git']>['pulls'][number]

interface BranchProps {
  id: string
  repo: ChangedRepo
  history: RepoHistory | undefined
  /** Why there is no history. */
  trouble: unknown
  pulls: readonly Pull[]
  promoted: readonly Promoted[]
}

export function Branch({ id, repo, history, trouble, pulls, promoted: told }: BranchProps) {
  const mayAct = useMayAct()
  const [isOpen, setOpen] = useState(false)
  // The page follows no events of an instance that has ended: what is promoted here is known from the answer.
  const [own, setOwn] = useState<readonly Promoted[]>([])
  const promoted = [...told, ...own.filter(({ url }) => !told.some((one) => one.url === url))]
  const button = useRef<HTMLButtonElement>(null)
  const branches = history?.branches ?? []
  const commits = history?.commits ?? []
  const close = () => {
    setOpen(false)
    setTimeout(() => button.current?.focus(), 0)
  }
  return (
    <section className="branch card" aria-label="Branch and pull requests">
      <div className="section-top">
        <p className="branch-line">
          <bdi className="mono branch-name">{cleanLine(repo.working_branch)}</bdi>{' '}
          <span className="quiet">{history !== undefined && pushedWords(repo, branches.length, commits.length)}</span>
        </p>
        <span className="branch-acts">
          <CopyButton text={plainCommand('instance', 'pull', id, repo.name)}>Copy pull command</CopyButton>
          {mayAct && branches.length > 0 && (
            <button
              type="button"
              className="button button-main"
              ref={button}
              aria-expanded={isOpen}
              onClick={() => (isOpen ? close() : setOpen(true))}
            >
              Promote…
            </button>
          )}
        </span>
      </div>
      {trouble !== null && <Trouble error={trouble} />}
      {isOpen && mayAct && branches.length > 0 && (
        <Promotion
          id={id}
          repo={repo}
          branches={branches}
          promoted={promoted}
          onPromoted={(one) => setOwn((before) => [...before.filter(({ url }) => url !== one.url), one])}
          onClose={close}
        />
      )}
      <PullRequests pulls={pulls} promoted={promoted} />
      <Commits commits={commits} />
    </section>
  )
}

function pushedWords({ pushed }: ChangedRepo, branches: number, commits: number): string {
  if (branches === 0) return 'nothing was pushed yet'
  const what = `${several(commits, 'commit')} pushed`
  if (pushed === null) return `${what}, on ${branches === 1 ? 'another branch' : 'other branches'}`
  return branches === 1 ? what : `${what}, on ${branches} branches`
}

const ACTION_WORDS: Readonly<Record<Pull['action'], string>> = {
  opened: 'open',
  updated: 'open',
  closed: 'closed',
  merged: 'merged',
}

/** Those upstream have a link. The git server of an instance is reached by its worker alone, and ends with it. */
function PullRequests({ pulls, promoted }: { pulls: readonly Pull[]; promoted: readonly Promoted[] }) {
  if (pulls.length === 0 && promoted.length === 0) return null
  return (
    <div className="pulls">
      <h2>Pull requests</h2>
      <ul className="plain-list">
        {promoted.map((one) => (
          <li key={one.url} data-pull={`upstream ${one.number}`}>
            <span className="pull-state" data-state="upstream">
              promoted
            </span>
            <span>
              <OutsideLink url={one.url}>{`#${one.number} at ${hostOf(one.url)}`}</OutsideLink>{' '}
              <span className="quiet">
                <bdi>{one.branch}</bdi> → <bdi>{one.target}</bdi> · <Ago at={one.at} />
              </span>
            </span>
          </li>
        ))}
        {pulls.map(({ number, title, head, base, action, at }) => (
          <li key={number} data-pull={number}>
            <span className="pull-state" data-state={action}>
              {ACTION_WORDS[action]}
            </span>
            <span>
              #{number} <bdi>{cleanLine(title)}</bdi>{' '}
              <span className="quiet">
                <bdi>{cleanLine(head)}</bdi> → <bdi>{cleanLine(base)}</bdi> · at its git server · <Ago at={at} />
              </span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}

const COMMITS_SHOWN = 50

function Commits({ commits }: { commits: readonly RepoCommit[] }) {
  if (commits.length === 0) return null
  return (
    <details>
      <summary>{several(commits.length, 'commit')}</summary>
      <ul className="plain-list">
        {commits.slice(0, COMMITS_SHOWN).map(({ commit, subject, author, at }) => (
          <li key={commit}>
            <code>{commit.slice(0, 10)}</code> <bdi>{cleanLine(subject)}</bdi>{' '}
            <span className="quiet">
              <bdi>{cleanLine(author)}</bdi> · <Ago at={at} />
            </span>
          </li>
        ))}
      </ul>
      {commits.length > COMMITS_SHOWN && <p className="quiet">The newest {COMMITS_SHOWN} are shown.</p>}
    </details>
  )
}
