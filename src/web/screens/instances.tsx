/** The list of instances, with tabs by status; the address selects the tab. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
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
  const key = search.get('tab') ?? 'all'
  const resolver = search.get('resolver')
  const tab = TABS[key] ?? TABS['all']!
  const list = useInfiniteQuery({
    queryKey: ['instances', 'pages', key, resolver],
    queryFn: ({ pageParam }) =>
      fetchInstances({
        limit: PAGE,
        ...(tab.status === undefined ? {} : { status: tab.status }),
        ...(resolver === null ? {} : { resolver }),
        ...(pageParam === '' ? {} : { cursor: pageParam }),
      }),
    initialPageParam: '',
    getNextPageParam: (page) => page.cursor ?? undefined,
    refetchInterval: EVERY_MS,
  })
  const records = list.data?.pages.flatMap((page) => page.records) ?? []
  const to = (name: string) =>
    `/instances?tab=${name}${resolver === null ? '' : `&resolver=${encodeURIComponent(resolver)}`}`
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
