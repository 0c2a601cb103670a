/** The form that brings a pushed branch upstream as a pull request. What the server found stands beside it before the person decides (docs/git.md, Promotion). */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react'
import type { ChangedRepo, RepoHistory } from '../../../../core/protocol/changes.ts'
import { cleanLine, cleanText } from '../../../../core/view/clean.ts'
import { checkPromotion, type PromotionFound, promote } from '../../../api/calls.ts'
import { Loading, Trouble } from '../../../parts/notice.tsx'
import { hostOf, OutsideLink } from './outside-link.tsx'
import { CHECK_MARKS, promotionChecks, refusalText } from './promotion-checks.ts'
import type { Promoted } from './use-repo-news.ts'

const TITLE_MAX_CHARS = 255

interface PromotionProps {
  id: string
  repo: ChangedRepo
  /** Those that were pushed: at least one. */
  branches: RepoHistory['branches']
  promoted: readonly Promoted[]
  onPromoted: (promoted: Promoted) => void
  onClose: () => void
}

export function Promotion({ id, repo, branches, promoted, onPromoted, onClose }: PromotionProps) {
  const [wanted, setWanted] = useState<string | null>(null)
  const [target, setTarget] = useState('')
  const [typedTarget, setTypedTarget] = useState('')
  const [title, setTitle] = useState<string | null>(null)
  const [text, setText] = useState<string | null>(null)
  const [isDraft, setDraft] = useState(false)
  const [isRebase, setRebase] = useState(false)
  const [looked, setLooked] = useState<string | null>(null)
  const [isSending, setSending] = useState(false)
  const [trouble, setTrouble] = useState<string | null>(null)
  const [done, setDone] = useState<PromotionFound | null>(null)
  const names = branches.map(({ name }) => name)
  const branch = [wanted, repo.working_branch].find((name) => name !== null && names.includes(name)) ?? names[0] ?? ''
  const commit = branches.find(({ name }) => name === branch)?.commit
  const ask = { branch, target_branch: target === '' ? null : target, rebase: isRebase }
  const check = useQuery({
    queryKey: ['promotion', id, repo.name, ask, commit],
    queryFn: ({ signal }) => checkPromotion(id, repo.name, ask, signal),
    retry: false,
    refetchOnWindowFocus: false,
  })
  const found = check.isError ? undefined : check.data
  const hasSecret = (found?.secrets.length ?? 0) > 0
  const needsLook = (found?.sensitive.length ?? 0) > 0
  // What was looked at is a commit: another one has to be looked at again.
  const hasLooked = looked !== null && looked === found?.commit
  const before = promoted.find((one) => one.branch === branch && one.target === found?.target_branch)
  const first = useRef<HTMLHeadingElement>(null)
  useEffect(() => first.current?.focus(), [done])

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (found === undefined || hasSecret || isSending) return
    if (needsLook && !hasLooked) return setTrouble('Look at the files that run with the rights of the forge first.')
    setSending(true)
    setTrouble(null)
    try {
      const own = title === null || title.trim() === '' ? {} : { pr_title: title.trim() }
      const allow = needsLook ? { allow: ['workflows' as const] } : {}
      const update = before === undefined || title !== null || text !== null
      // A description that is not touched is the one that the server proposes.
      const more = { ...(text === null ? {} : { pr_body: text }), draft: isDraft, update, commit: found.commit }
      const made = await promote(id, repo.name, { ...ask, ...own, ...allow, ...more })
      setDone(made)
      onPromoted({
        repo: repo.name,
        branch: cleanLine(made.branch),
        target: cleanLine(made.target_branch),
        number: made.number ?? 0,
        url: cleanLine(made.pr_url ?? ''),
        at: new Date().toISOString(),
      })
    } catch (error) {
      setTrouble(refusalText(error))
      void check.refetch()
    } finally {
      setSending(false)
    }
  }
  const closeOnEscape = (event: KeyboardEvent) => event.key === 'Escape' && !isSending && onClose()

  if (done !== null) return <Done done={done} heading={first} onClose={onClose} />
  return (
    <form
      className="promotion"
      aria-labelledby="promote"
      onSubmit={(event) => void submit(event)}
      onKeyDown={closeOnEscape}
    >
      <h2 id="promote" ref={first} tabIndex={-1}>
        {before === undefined ? 'Open a pull request upstream' : `Update pull request #${before.number}`}
      </h2>
      <div className="promotion-panes">
        <div className="form">
          {names.length > 1 && (
            <div className="field">
              <label htmlFor="promote-branch">Branch</label>
              <select id="promote-branch" value={branch} onChange={(event) => setWanted(event.target.value)}>
                {names.map((name) => (
                  <option key={name} value={name}>
                    {cleanLine(name)}
                  </option>
                ))}
              </select>
            </div>
          )}
          <div className="field">
            <label htmlFor="promote-title">Title</label>
            <input
              id="promote-title"
              type="text"
              autoComplete="off"
              maxLength={TITLE_MAX_CHARS}
              value={title ?? cleanLine(found?.pr_title ?? '')}
              onChange={(event) => setTitle(event.target.value)}
            />
          </div>
          <div className="field">
            <label htmlFor="promote-text">Description</label>
            {before !== undefined && (
              <p className="field-about" id="promote-text-about">
                Title and description replace those of the pull request. Change neither, and both stay.
              </p>
            )}
            <textarea
              id="promote-text"
              rows={4}
              aria-describedby={before === undefined ? undefined : 'promote-text-about'}
              value={text ?? cleanText(found?.pr_body ?? '')}
              onChange={(event) => setText(event.target.value)}
            />
          </div>
          <div className="field">
            <label htmlFor="promote-target">Target branch</label>
            <input
              id="promote-target"
              type="text"
              autoComplete="off"
              spellCheck={false}
              placeholder={cleanLine(repo.base ?? 'the default branch')}
              value={typedTarget}
              onChange={(event) => setTypedTarget(event.target.value)}
              onBlur={() => setTarget(typedTarget.trim())}
            />
          </div>
          <div className="field field-check">
            <input
              id="promote-draft"
              type="checkbox"
              checked={isDraft}
              onChange={(event) => setDraft(event.target.checked)}
            />
            <label htmlFor="promote-draft">Open as a draft</label>
          </div>
          {(isRebase || (found?.behind ?? 0) > 0) && (
            <div className="field field-check">
              <input
                id="promote-rebase"
                type="checkbox"
                checked={isRebase}
                onChange={(event) => setRebase(event.target.checked)}
              />
              <label htmlFor="promote-rebase">Rebase: make the commits again on top of the target</label>
            </div>
          )}
        </div>
        <section className="promotion-checks" aria-labelledby="promote-checks" aria-busy={check.isFetching}>
          <h3 id="promote-checks">Checks</h3>
          {check.isError && (
            <Trouble error={refusalText(check.error)}>
              <button type="button" className="button button-small" onClick={() => void check.refetch()}>
                Check again
              </button>
            </Trouble>
          )}
          {check.isPending && <Loading what="Comparing with the upstream…" />}
          {found !== undefined && <Checks found={found} />}
          {needsLook && found !== undefined && (
            <div className="field field-check">
              <input
                id="promote-looked"
                type="checkbox"
                checked={hasLooked}
                onChange={(event) => {
                  setLooked(event.target.checked ? found.commit : null)
                  setTrouble(null)
                }}
              />
              <label htmlFor="promote-looked">I have looked at these files, and they may change</label>
            </div>
          )}
        </section>
      </div>
      {trouble !== null && <Trouble error={trouble} />}
      <div className="form-end">
        <button type="submit" className="button button-main" disabled={found === undefined || hasSecret || isSending}>
          {before === undefined ? 'Open the pull request' : 'Update the pull request'}
        </button>
        <button type="button" className="button" disabled={isSending} onClick={onClose}>
          Close
        </button>
        <span role="status" className="quiet">
          {isSending ? 'Pushing the branch…' : ''}
        </span>
      </div>
    </form>
  )
}

function Checks({ found }: { found: PromotionFound }) {
  return (
    <ul className="checks">
      {promotionChecks(found).map(({ kind, text, paths }) => (
        <li key={text} data-check={kind}>
          <span className="check-mark" aria-hidden="true">
            {CHECK_MARKS[kind]}
          </span>
          <div>
            {kind !== 'fine' && <span className="out-of-sight">{kind === 'note' ? 'Note: ' : 'Refused: '}</span>}
            {text}
            {paths.length > 0 && (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
              <ul className="check-paths" tabIndex={0} aria-label="Paths">
                {paths.map((path) => (
                  <li key={path}>
                    <bdi className="mono">{path}</bdi>
                  </li>
                ))}
              </ul>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}

interface DoneProps {
  done: PromotionFound
  heading: RefObject<HTMLHeadingElement | null>
  onClose: () => void
}

function Done({ done: { pr_url: url, number, created, target_branch: target }, heading, onClose }: DoneProps) {
  return (
    <div className="promotion" data-promoted={number ?? ''}>
      <h2 ref={heading} tabIndex={-1}>
        {created ? 'The pull request is open' : 'The pull request was updated'}
      </h2>
      <p>
        {url !== null && <OutsideLink url={url}>{`#${number ?? ''} at ${hostOf(url)}`}</OutsideLink>}{' '}
        <span className="quiet">
          into <bdi>{cleanLine(target)}</bdi>
        </span>
      </p>
      <div>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </div>
  )
}
