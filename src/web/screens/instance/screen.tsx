/** The screen of one instance: a compact header, its tabs, and beside them the open input requests. */
import { Tabs } from '@base-ui/react/tabs'
import { useQuery } from '@tanstack/react-query'
import { type ComponentType, lazy, Suspense, useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { cleanLine } from '../../../core/view/clean.ts'
import { instanceQuery } from '../../api/queries.ts'
import type { TabProps } from '../../live/tab-props.ts'
import { useLive } from '../../live/use-live.ts'
import { ErrorFence } from '../../parts/error-fence.tsx'
import { Loading, Trouble } from '../../parts/notice.tsx'
import { Screen } from '../../parts/screen.tsx'
import { InstanceHeader, InstanceName } from './header.tsx'
import { InputRequests } from './input-requests.tsx'
import { OverviewTab } from './overview/overview.tsx'
import { TimelineTab } from './timeline/timeline.tsx'

/** A tab that is there only where the instance has what it shows. */
type Need = 'viewport' | 'repos' | 'sessions'

/** Tabs that are used less often are loaded when they are opened. */
const TABS: Readonly<Record<string, { label: string; body: ComponentType<TabProps>; needs?: Need }>> = {
  overview: { label: 'Overview', body: OverviewTab },
  waterfall: { label: 'Waterfall', body: lazy(() => import('./waterfall/waterfall.tsx')) },
  timeline: { label: 'Events', body: TimelineTab },
  log: { label: 'Logs', body: lazy(() => import('./log/log.tsx')) },
  changes: { label: 'Changes', body: lazy(() => import('./changes/changes.tsx')), needs: 'repos' },
  sessions: { label: 'Sessions', body: lazy(() => import('./sessions/sessions.tsx')), needs: 'sessions' },
  graph: { label: 'Graph', body: lazy(() => import('./graph/graph.tsx')) },
  state: { label: 'State', body: lazy(() => import('./data/state.tsx')) },
  data: { label: 'Data', body: lazy(() => import('./data/data.tsx')) },
  messages: { label: 'Messages', body: lazy(() => import('./messages.tsx')) },
  view: { label: 'View', body: lazy(() => import('./view.tsx')), needs: 'viewport' },
  raw: { label: 'Raw', body: lazy(() => import('./raw.tsx')) },
}

export default function InstanceScreen({ id, tab }: { id: string; tab: string }) {
  const live = useLive(id)
  const { story, problem } = live
  const record = useQuery(instanceQuery(id))
  const status = story?.status
  useEffect(() => {
    if (status !== undefined) void record.refetch()
  }, [status])
  // A name that an older version took may change the reading direction.
  const name = cleanLine(record.data?.name ?? '') || null
  const place = `/instances/${id}`
  if (problem !== null && story === null) {
    return (
      <Screen title="Instance" place={place}>
        <Trouble error={problem}>
          <Link href="/instances">All instances</Link>
        </Trouble>
      </Screen>
    )
  }
  if (story === null) {
    return (
      <Screen title={name ?? id} place={place}>
        <Loading what="Loading the instance…" />
      </Screen>
    )
  }
  return (
    <Screen
      title={name ?? id}
      place={place}
      heading={<InstanceName id={id} name={name} onRenamed={() => void record.refetch()} />}
      beside={<InstanceHeader id={id} story={story} connection={live.connection} />}
    >
      {problem !== null && <Trouble error={problem} />}
      <div className="instance-body">
        <InstanceTabs
          id={id}
          tab={tab}
          live={live}
          has={{
            viewport: story.creation.resolver.manifest.viewport_path !== undefined,
            repos: (story.repos?.length ?? 0) > 0,
            sessions: (story.sessions?.length ?? 0) > 0,
          }}
        />
        <InputRequests id={id} story={story} />
      </div>
    </Screen>
  )
}

interface InstanceTabsProps extends TabProps {
  tab: string
  has: Readonly<Record<Need, boolean>>
}

function InstanceTabs({ id, tab, live, has }: InstanceTabsProps) {
  const [, go] = useLocation()
  const shown = Object.entries(TABS).filter(
    ([name, { needs }]) => needs === undefined || has[needs] || (needs === 'sessions' && name === tab),
  )
  const here = shown.some(([name]) => name === tab) ? tab : 'overview'
  return (
    <Tabs.Root
      value={here}
      onValueChange={(value: string) => go(`/instances/${id}/${value}`)}
      className="instance-tabs"
    >
      <Tabs.List className="tabs" aria-label="Views of the instance" activateOnFocus={false}>
        {shown.map(([name, { label }]) => (
          <Tabs.Tab key={name} value={name} className="tab">
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {shown.map(([name, { body: Body }]) => (
        <Tabs.Panel key={name} value={name} className="panel">
          <ErrorFence>
            <Suspense fallback={<Loading what="Loading…" />}>
              <Body id={id} live={live} />
            </Suspense>
          </ErrorFence>
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  )
}
