/** The list of resolvers, and the screen of one: description, form, command line, recent runs. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Resolver } from '../../core/protocol/catalog.ts'
import { plainCommand } from '../../core/view/command-line.ts'
import { instancesQuery, resolverQuery, resolversQuery } from '../api/queries.ts'
import { Ago } from '../parts/ago.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { Empty, Loading, Trouble } from '../parts/notice.tsx'
import { Screen } from '../parts/screen.tsx'
import { CreateForm } from './create-form.tsx'
import { InstanceRows } from './instance-rows.tsx'

const RECENT = 5
const at = encodeURIComponent

export function ResolversScreen() {
  const { data, isPending, isError, error } = useQuery(resolversQuery)
  return (
    <Screen title="Resolvers">
      {isPending && <Loading what="Loading the resolvers…" />}
      {isError && data === undefined && <Trouble error={error} />}
      {data?.length === 0 && (
        <Empty>
          The catalog is empty. Add one on the server: <code>resolve resolver add ./my-resolver</code>
        </Empty>
      )}
      <ul className="tiles">
        {data?.map((resolver) => (
          <li key={resolver.name} className="tile">
            <h2>
              <Link href={`/resolvers/${at(resolver.name)}`}>{resolver.name}</Link>
            </h2>
            <p>{resolver.description}</p>
            <p className="quiet">
              {resolver.version} · {sourceOf(resolver)}
            </p>
            <Link className="button button-small" href={`/?resolver=${at(resolver.name)}`}>
              Start<span className="out-of-sight"> {resolver.name}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Screen>
  )
}

export function ResolverScreen({ name }: { name: string }) {
  const { data: resolver, isError, error } = useQuery(resolverQuery(name))
  const recent = useQuery(instancesQuery({ resolver: name, limit: RECENT })).data?.records ?? []
  if (resolver === undefined) {
    return (
      <Screen title={name}>{isError ? <Trouble error={error} /> : <Loading what="Loading the resolver…" />}</Screen>
    )
  }
  const command = plainCommand('run', name)
  return (
    <Screen
      title={name}
      beside={
        <Link className="button button-main" href={`/?resolver=${at(name)}`}>
          Start
        </Link>
      }
    >
      <p className="lead">{resolver.description}.</p>
      <dl className="facts">
        <div>
          <dt>Version</dt>
          <dd>{resolver.version}</dd>
        </div>
        <div>
          <dt>From</dt>
          <dd>{sourceOf(resolver)}</dd>
        </div>
        <div>
          <dt>Added</dt>
          <dd>
            <Ago at={resolver.added_at} />
          </dd>
        </div>
        <div>
          <dt>Can be paused and resumed</dt>
          <dd>{resolver.supports_resume ? 'yes' : 'no'}</dd>
        </div>
        <div>
          <dt>Own view</dt>
          <dd>{resolver.manifest.viewport_path === undefined ? 'no' : 'yes'}</dd>
        </div>
      </dl>
      <section aria-labelledby="form">
        <h2 id="form">Its form</h2>
        <div className="card">
          <CreateForm resolver={name} isPreview />
        </div>
      </section>
      <section aria-labelledby="command">
        <h2 id="command">On the command line</h2>
        <div className="command">
          <code>{command}</code>
          <CopyButton text={command}>Copy</CopyButton>
        </div>
      </section>
      <section aria-labelledby="runs">
        <div className="section-top">
          <h2 id="runs">Recent runs</h2>
          <Link href={`/instances?tab=all&resolver=${at(name)}`}>All of them</Link>
        </div>
        {recent.length === 0 ? <Empty>No runs yet.</Empty> : <InstanceRows records={recent} label="Recent runs" />}
      </section>
      <section aria-labelledby="manifest">
        <h2 id="manifest">Manifest</h2>
        <JsonView value={resolver.manifest} label="Manifest" />
      </section>
    </Screen>
  )
}

function sourceOf({ kind, source, commit }: Resolver): string {
  if (kind === 'builtin') return 'built in'
  if (source?.startsWith('upload:') === true) return 'sent by a client'
  if (kind === 'directory') return 'a directory of the server'
  return `${source ?? 'git'}${commit === null ? '' : ` at ${commit.slice(0, 10)}`}`
}
