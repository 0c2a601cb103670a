/** The start screen: choose a resolver and fill in its form; below, open questions and recent instances. */
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useSearchParams } from 'wouter'
import { instanceQuery, instancesQuery, resolversQuery, WAITING } from '../api/queries.ts'
import { Empty, Loading, Trouble } from '../parts/notice.tsx'
import { Screen } from '../parts/screen.tsx'
import { CreateForm } from './create-form.tsx'
import { InstanceRows } from './instance-rows.tsx'
import { ResolverPicker } from './resolver-picker.tsx'

const LAST_KEY = 'resolve.last-resolver'
const RECENT = 5

export function CreateScreen() {
  const resolvers = useQuery(resolversQuery)
  const [search] = useSearchParams()
  const [, go] = useLocation()
  const wanted = search.get('resolver') ?? localStorage.getItem(LAST_KEY)
  const known = resolvers.data ?? []
  const chosen = known.find(({ name }) => name === wanted) ?? known[0]
  const choose = (name: string) => {
    localStorage.setItem(LAST_KEY, name)
    go(`/?resolver=${encodeURIComponent(name)}`, { replace: true })
  }
  return (
    <Screen title="New instance">
      {resolvers.isPending && <Loading what="Loading the resolvers…" />}
      {resolvers.isError && resolvers.data === undefined && <Trouble error={resolvers.error} />}
      {resolvers.data?.length === 0 && (
        <Empty>
          There is no resolver yet. Add one on the server: <code>resolve resolver add ./my-resolver</code>
        </Empty>
      )}
      {chosen !== undefined && (
        <section className="card" aria-label="New instance">
          <ResolverPicker resolvers={known} chosen={chosen} onChoose={choose} />
          <Again
            key={`${chosen.name} ${search.get('again') ?? ''}`}
            resolver={chosen.name}
            from={search.get('again')}
          />
        </section>
      )}
      <NeedsYou />
      <Recent />
    </Screen>
  )
}

/** The form, filled with the input of another instance if one is given. */
function Again({ resolver, from }: { resolver: string; from: string | null }) {
  const before = useQuery({ ...instanceQuery(from ?? ''), enabled: from !== null })
  if (from !== null && before.isPending) return <Loading what="Loading the earlier input…" />
  const isSame = before.data !== undefined && before.data.resolver === resolver
  return <CreateForm resolver={resolver} {...(isSame ? { before: before.data.input } : {})} />
}

function NeedsYou() {
  const { data } = useQuery(instancesQuery({ status: WAITING, limit: 20 }))
  if (data === undefined || data.records.length === 0) return null
  return (
    <section aria-labelledby="needs-you">
      <h2 id="needs-you">Needs you</h2>
      <InstanceRows records={data.records} label="Instances that wait for an answer" />
    </section>
  )
}

function Recent() {
  const { data, isError, error } = useQuery(instancesQuery({ limit: RECENT }))
  return (
    <section aria-labelledby="recent">
      <div className="section-top">
        <h2 id="recent">Recent</h2>
        <Link href="/instances">All instances</Link>
      </div>
      {data !== undefined && data.records.length === 0 && (
        <Empty>No instances yet. The ones you start appear here.</Empty>
      )}
      {data !== undefined && data.records.length > 0 && (
        <InstanceRows records={data.records} label="Recent instances" />
      )}
      {data === undefined && isError && <Trouble error={error} />}
    </section>
  )
}
