/** The current state snapshot of the resolver. */
import { useQuery } from '@tanstack/react-query'
import { isTerminal } from '../../../../core/protocol/status.ts'
import { fetchState } from '../../../api/calls.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { CopyButton } from '../../../parts/copy-button.tsx'
import { JsonView } from '../../../parts/json-view.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'

/** State changes cause no events, so the state is polled while the instance runs. */
const EVERY_MS = 1_500

export function useInstanceState({ id, live }: TabProps) {
  const hasEnded = live.story !== null && isTerminal(live.story.status)
  return useQuery({
    queryKey: ['state', id, hasEnded],
    queryFn: () => fetchState(id),
    refetchInterval: hasEnded ? false : EVERY_MS,
  })
}

export default function StateTab(props: TabProps) {
  const { data, isPending, isError, error } = useInstanceState(props)
  if (isPending) return <Loading what="Loading the state…" />
  if (isError) return <Trouble error={error} />
  // Before the first snapshot there is only what the platform knows (R47).
  if (data.updated_at === undefined) return <Empty>The resolver has saved no state yet.</Empty>
  return (
    <>
      <div className="panel-tools">
        <CopyButton text={JSON.stringify(data, null, 2)}>Copy as JSON</CopyButton>
      </div>
      <JsonView value={data} label="State" />
    </>
  )
}
