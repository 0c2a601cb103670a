/** What the reader chose to see, kept in the address: repository, base, state and file. */
import { useSearchParams } from 'wouter'
import { DIFF_BASES, type DiffBase } from '../../../../core/protocol/changes.ts'

export interface Choice {
  repo: string | null
  base: DiffBase
  /** The number of a snapshot, `pushed`, or '' for the work as it is now. */
  at: string
  file: string | null
}

export interface Choices {
  choice: Choice
  /** Changes a part; the file stays unless the repository changes. */
  choose: (part: Partial<Choice>) => void
  hrefOf: (part: Partial<Choice>) => string
}

export function useChoice(): Choices {
  const [search, setSearch] = useSearchParams()
  const base = DIFF_BASES.find((one) => one === search.get('base')) ?? 'start'
  const at = /^(?:pushed|[1-9]\d{0,8})$/.exec(search.get('at') ?? '')?.[0] ?? ''
  const choice: Choice = { repo: search.get('repo'), base, at, file: search.get('file') }
  const hrefOf = (part: Partial<Choice>) => `?${paramsOf({ ...choice, ...part })}`
  const choose = (part: Partial<Choice>) => setSearch(paramsOf({ ...choice, ...part }), { replace: true })
  return { choice, choose, hrefOf }
}

function paramsOf({ repo, base, at, file }: Choice): URLSearchParams {
  const params = new URLSearchParams()
  if (repo !== null) params.set('repo', repo)
  if (base !== 'start') params.set('base', base)
  if (at !== '') params.set('at', at)
  if (file !== null) params.set('file', file)
  return params
}
