/** The tab with the resolver's viewport, in a sandboxed frame (docs/viewport.md). */
import { useQuery } from '@tanstack/react-query'
import { fetchViewport } from '../../api/calls.ts'
import type { TabProps } from '../../live/tab-props.ts'
import { Loading, Trouble } from '../../parts/notice.tsx'
import { ViewportFrame } from '../../viewport/viewport-frame.tsx'
import { useInstanceState } from './data/state.tsx'

export default function ViewTab(props: TabProps) {
  const { id, live } = props
  const resolver = live.story?.creation.resolver.name ?? ''
  const code = useQuery({
    queryKey: ['viewport', resolver],
    queryFn: () => fetchViewport(resolver),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const state = useInstanceState(props).data ?? null
  if (code.isError) return <Trouble error={code.error} />
  if (code.data === undefined || live.story === null) return <Loading what="Loading the view…" />
  return <ViewportFrame id={id} code={code.data} live={live} story={live.story} state={state} />
}
