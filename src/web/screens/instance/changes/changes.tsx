/**
 * What an instance changed in its repositories (docs/git.md, Seeing the work): the pushed branch with its pull requests, the form that
 * promotes it, and the files with their differences. Everything of a repository is text of the resolver (threats UI-1).
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ChangedRepo } from '../../../../core/protocol/changes.ts'
import { isTerminal } from '../../../../core/protocol/status.ts'
import { fetchRepoHistory, fetchRepos } from '../../../api/calls.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { Branch } from './branch.tsx'
import { Choosers } from './choosers.tsx'
import { Difference } from './difference.tsx'
import { type Choices, useChoice } from './use-choice.ts'
import { type RepoNews, useRepoNews } from './use-repo-news.ts'
import '../../../styles/changes.css'

export default function ChangesTab(props: TabProps) {
  const { id, live } = props
  const news = useRepoNews(live)
  const choices = useChoice()
  const status = live.story?.status
  const repos = useQuery({
    queryKey: ['repos', id, news.seq, status],
    queryFn: () => fetchRepos(id),
    placeholderData: keepPreviousData,
  })
  if (repos.isPending) return <Loading what="Loading the repositories…" />
  if (repos.data === undefined) return <Trouble error={repos.error} />
  const repo = repos.data.find(({ name }) => name === choices.choice.repo) ?? repos.data[0]
  if (repo === undefined) return <Empty>This instance has no repositories.</Empty>
  return <Repo key={repo.name} {...props} repo={repo} repos={repos.data} news={news} choices={choices} />
}

interface RepoProps extends TabProps {
  repo: ChangedRepo
  repos: readonly ChangedRepo[]
  news: RepoNews
  choices: Choices
}

function Repo({ id, live, repo, repos, news, choices }: RepoProps) {
  const { name } = repo
  const hasEnded = live.story !== null && isTerminal(live.story.status)
  const history = useQuery({
    queryKey: ['repo-history', id, name, news.seq, hasEnded],
    queryFn: () => fetchRepoHistory(id, name),
    placeholderData: keepPreviousData,
    enabled: repo.kept,
  })
  const choosers = <Choosers repo={repo} repos={repos} history={history.data} hasEnded={hasEnded} choices={choices} />
  if (!repo.kept) {
    return (
      <div className="changes" data-repo={name}>
        {choosers}
        <Empty>An older version ran this instance and did not keep its changes.</Empty>
      </div>
    )
  }
  return (
    <div className="changes" data-repo={name}>
      <Branch
        id={id}
        repo={repo}
        history={history.data}
        trouble={history.data === undefined ? history.error : null}
        pulls={(live.story?.git?.pulls ?? []).filter((pull) => pull.repo === name)}
        promoted={news.promoted.filter((one) => one.repo === name)}
      />
      {choosers}
      <Difference id={id} repo={name} choices={choices} version={`${news.seq} ${hasEnded}`} isLive={!hasEnded} />
    </div>
  )
}
