/** The list of instances, with tabs by status; the address selects the tab. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useLocation, useSearchParams } from 'wouter'
import type { Status } from '../../core/protocol/status.ts'
import { fetchInstances } from '../api/calls.ts'
import { ACTIVE, WAITING } from '../api/queries.ts'
import { Empty, Loading, Trouble } from '../parts/notice.tsx'
import { Screen } from '../parts/screen.tsx'
import { InstanceRows } from './instance-rows.tsx'

interface Tab {
  label: string
  status: readonly Status[] | undefined
  empty: string
}

const TABS: Readonly<Record<string, Tab>> = {
  'needs-you': { label: 'Needs you', status: WAITING, empty: 'No instance waits for an answer.' },
  active: { label: 'Active', status: ACTIVE, empty: 'No instance is running.' },
  done: { label: 'Done', status: ['completed', 'cancelled'], empty: 'No instance has ended yet.' },
  failed: { label: 'Failed', status: ['failed'], empty: 'No instance has failed.' },
  all: { label: 'All', status: undefined, empty: 'No instances yet.' },
}

const PAGE = 50
const EVERY_MS = 2_000

/** Scrolls the selected tab into view: on narrow screens the tabs are wider than the screen. */
function intoSight(link: HTMLAnchorElement | null): void {
  const row = link?.parentElement
  if (link !== null && row != null)
    row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.offsetWidth) / 2
}

export function InstancesScreen() {
  const [search] = useSearchParams()
  const [, go] = useLocation()
  const key = search.get('tab') ?? 'all'
  const resolver = search.get('resolver')
  const text = search.get('text') ?? ''
  const label = search.getAll('label')
  const tab = TABS[key] ?? TABS['all']!
  const list = useInfiniteQuery({
    queryKey: ['instances', 'pages', key, resolver, text, label],
    queryFn: ({ pageParam }) =>
      fetchInstances({
        limit: PAGE,
        ...(tab.status === undefined ? {} : { status: tab.status }),
        ...(resolver === null ? {} : { resolver }),
        ...(text === '' ? {} : { text }),
        ...(label.length === 0 ? {} : { label }),
        ...(pageParam === '' ? {} : { cursor: pageParam }),
      }),
    initialPageParam: '',
    getNextPageParam: (page) => page.cursor ?? undefined,
    refetchInterval: EVERY_MS,
  })
  const records = list.data?.pages.flatMap((page) => page.records) ?? []
  const to = (name: string, words = text) => {
    const chosen = new URLSearchParams({ tab: name, ...(resolver === null ? {} : { resolver }) })
    for (const one of label) chosen.append('label', one)
    if (words !== '') chosen.set('text', words)
    return `/instances?${chosen}`
  }
  return (
    <Screen title={resolver === null ? 'Instances' : `Instances of ${resolver}`} place="/instances">
      <nav className="tabs" aria-label="Which instances">
        {Object.entries(TABS).map(([name, { label }]) => (
          <Link
            key={name}
            href={to(name)}
            className="tab"
            aria-current={tab === TABS[name] ? 'page' : undefined}
            ref={tab === TABS[name] ? intoSight : null}
          >
            {label}
          </Link>
        ))}
      </nav>
      <search>
        <input
          type="search"
          className="filter"
          aria-label="Only instances with these words in the name, a label, the resolver or the input"
          placeholder="Name, label, resolver or input"
          maxLength={200}
          value={text}
          onChange={(event) => go(to(key, event.target.value), { replace: true })}
        />
      </search>
      {list.isPending && <Loading what="Loading the instances…" />}
      {list.isError && <Trouble error={list.error} />}
      {list.data !== undefined && records.length === 0 && (
        <Empty>
          {tab.empty} <Link href="/">Start an instance</Link>
        </Empty>
      )}
      {records.length > 0 && <InstanceRows records={records} label={`Instances: ${tab.label}`} />}
      {list.hasNextPage && (
        <button type="button" className="button" onClick={() => void list.fetchNextPage()}>
          Show earlier ones
        </button>
      )}
    </Screen>
  )
}
