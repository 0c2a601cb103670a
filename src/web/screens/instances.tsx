/** The list of instances: tabs with counts, search, filters and order; the address holds all of them. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { fetchInstances } from '../api/calls.ts'
import { isUnreachable } from '../api/problem.ts'
import { countsQuery, resolversQuery } from '../api/queries.ts'
import { Empty, Loading, Trouble } from '../parts/notice.tsx'
import { Screen } from '../parts/screen.tsx'
import { InstanceRows } from './instance-rows.tsx'
import { Filters } from './list/filters.tsx'
import {
  addressOfList,
  choiceIn,
  countOf,
  type ListChoice,
  narrowingOf,
  statusesOf,
  TABS,
  type TabName,
} from './list/list-address.ts'
import { SelectionBar } from './list/selection-bar.tsx'
import { steadyRows } from './list/steady-rows.ts'

const PAGE = 50
/** Instances that have not ended are all on the first page, up to this number. */
const OPEN_MAX = 500
const EVERY_MS = 2_000

/** Scrolls the selected tab into view: on narrow screens the tabs are wider than the screen. */
function intoSight(link: HTMLAnchorElement | null): void {
  const row = link?.parentElement
  if (link !== null && row != null)
    row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.offsetWidth) / 2
}

/** One page: those that have not ended come with the first one. */
async function fetchPage(choice: ListChoice, cursor: string) {
  const { open, ended } = statusesOf(choice)
  const wish = { ...narrowingOf(choice), order: choice.order }
  const none = { records: [], cursor: null }
  const [first, rest] = await Promise.all([
    cursor === '' && open.length > 0 ? fetchInstances({ ...wish, status: open, limit: OPEN_MAX }) : none,
    ended.length > 0
      ? fetchInstances({ ...wish, status: ended, limit: PAGE, ...(cursor === '' ? {} : { cursor }) })
      : none,
  ])
  // One that ended between the two answers is in both.
  const ids = new Set(rest.records.map(({ instance_id: id }) => id))
  return {
    records: [...first.records.filter(({ instance_id: id }) => !ids.has(id)), ...rest.records],
    cursor: rest.cursor,
  }
}

export default function InstancesScreen() {
  const [search] = useSearchParams()
  const [, go] = useLocation()
  const choice = choiceIn(search)
  const { empty, label } = TABS[choice.tab]
  const address = addressOfList(choice)
  const counts = useQuery(countsQuery(narrowingOf(choice))).data
  const resolvers = useQuery(resolversQuery).data ?? []
  const list = useInfiniteQuery({
    queryKey: ['instances', 'pages', address],
    queryFn: ({ pageParam }) => fetchPage(choice, pageParam),
    initialPageParam: '',
    getNextPageParam: (page) => page.cursor ?? undefined,
    refetchInterval: EVERY_MS,
  })
  const fresh = list.data?.pages.flatMap((page) => page.records) ?? []
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isPointed, setPointed] = useState(false)
  const shown = useRef<{ address: string; ids: readonly string[] }>({ address, ids: [] })
  const isHeld = (isPointed || selected.size > 0) && shown.current.address === address
  const { rows, held } = steadyRows(shown.current.ids, fresh, isHeld)
  const ids = rows.map(({ instance_id: id }) => id)
  useEffect(() => {
    shown.current = { address, ids }
  })
  useEffect(() => setSelected(new Set()), [address])
  const showNew = () => {
    shown.current = { address, ids: [] }
    setSelected(new Set())
    setPointed(false)
  }
  const change = (next: ListChoice) => go(addressOfList(next), { replace: true })
  const isKnown = list.data !== undefined
  return (
    <Screen title={choice.resolver === '' ? 'Instances' : `Instances of ${choice.resolver}`} place="/instances">
      <nav className="tabs" aria-label="Which instances">
        {(Object.keys(TABS) as TabName[]).map((tab) => (
          <Link
            key={tab}
            href={addressOfList({ ...choice, tab, status: null })}
            className="tab"
            aria-current={tab === choice.tab ? 'page' : undefined}
            ref={tab === choice.tab ? intoSight : null}
          >
            {TABS[tab].label} <span className="tab-count">{countOf(tab, counts) ?? ''}</span>
          </Link>
        ))}
      </nav>
      <Filters key={choice.tab} choice={choice} resolvers={resolvers.map(({ name }) => name)} onChange={change} />
      {list.isPending && <Loading what="Loading the instances…" />}
      {list.isError && !(isKnown && isUnreachable(list.error)) && <Trouble error={list.error} />}
      {isKnown && rows.length === 0 && (
        <Empty>
          {empty} <Link href="/">Start an instance</Link>
        </Empty>
      )}
      <SelectionBar
        selected={rows.filter(({ instance_id: id }) => selected.has(id))}
        onClear={() => setSelected(new Set())}
      />
      {held > 0 && (
        <button type="button" className="button button-small new-rows" onClick={showNew}>
          Show {held} new
        </button>
      )}
      {rows.length > 0 && (
        <InstanceRows
          records={rows}
          label={`Instances: ${label}`}
          selected={selected}
          onSelect={setSelected}
          onPointed={setPointed}
        />
      )}
      {list.hasNextPage && (
        <button type="button" className="button" onClick={() => void list.fetchNextPage()}>
          Show more
        </button>
      )}
    </Screen>
  )
}
