/** A pipeline in the page: its picture, a table of its nodes, and what one of them did (decisions/0034). All text is that of an author or a model. */
import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { fetchData } from '../../../api/calls.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { useDataFiles } from '../data/data.tsx'
import { useInstanceState } from '../data/state.tsx'
import { nodesOf, takenEdges } from './graph-nodes.ts'
import { Inspector } from './inspector.tsx'
import { NodeTable } from './node-table.tsx'
import { Picture } from './picture.tsx'
import '../../../styles/graph.css'

const FILE = 'graph.dot'
/** Child pipelines, by the node that runs them. */
const CHILD = /^graphs\/(.+)\.dot$/
const MAX_BYTES = 1024 * 1024

export default function GraphTab(props: TabProps) {
  const files = useDataFiles(props)
  const state = useInstanceState(props).data
  const nodes = useMemo(() => nodesOf(state), [state])
  const taken = useMemo(() => takenEdges(state), [state])
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const [path, setPath] = useState(FILE)
  const { refetch } = files
  const choose = useCallback(
    (id: string) => {
      setChosen(id)
      // Its files may be newer than the list.
      void refetch()
    },
    [refetch],
  )
  if (files.isPending) return <Loading what="Loading the graph…" />
  if (files.isError) return <Trouble error={files.error} />
  const graphs = files.data.filter((file) => file.path === FILE || CHILD.test(file.path))
  const file = graphs.find((one) => one.path === path) ?? graphs.find((one) => one.path === FILE)
  if (file === undefined) return <Empty>This instance has no graph.</Empty>
  const node = nodes.find(({ id }) => id === chosen)
  const close = () => {
    setChosen(undefined)
    document.querySelector<HTMLElement>(`[data-node-row="${CSS.escape(chosen ?? '')}"] button`)?.focus()
  }
  return (
    <div className="graph" data-inspects={node === undefined ? undefined : ''}>
      {graphs.length > 1 && (
        <label className="graph-choice">
          Graph{' '}
          <select value={file.path} onChange={(event) => setPath(event.target.value)}>
            {graphs.map((one) => (
              <option key={one.path} value={one.path}>
                {one.path === FILE ? 'the pipeline' : cleanLine(CHILD.exec(one.path)?.[1] ?? one.path)}
              </option>
            ))}
          </select>
        </label>
      )}
      <div className="graph-views">
        <Source id={props.id} file={file}>
          {(source) => (
            <Picture
              key={file.path}
              source={source}
              prefix={file.path === FILE ? '' : `${CHILD.exec(file.path)?.[1]}/`}
              nodes={nodes}
              taken={taken}
              chosen={chosen}
              onChoose={choose}
            />
          )}
        </Source>
        {node !== undefined && <Inspector key={node.id} id={props.id} node={node} files={files.data} onClose={close} />}
      </div>
      <section aria-labelledby="nodes">
        <h2 id="nodes">Nodes</h2>
        {nodes.length === 0 ? (
          <p className="quiet">The resolver does not report the status of the nodes.</p>
        ) : (
          <NodeTable nodes={nodes} chosen={chosen} onChoose={choose} />
        )}
      </section>
    </div>
  )
}

interface SourceProps {
  id: string
  file: DataFile
  children: (source: string) => React.ReactNode
}

function Source({ id, file, children }: SourceProps) {
  const dot = useQuery({
    queryKey: ['graph', id, file.path, file.modified_at],
    queryFn: async () => (await fetchData(id, file.path, { limit: MAX_BYTES })).text(),
    enabled: file.bytes > 0,
    placeholderData: (before: string | undefined) => before,
  })
  if (file.bytes > MAX_BYTES) return <p className="quiet">The file of the graph is too large for a picture.</p>
  if (dot.isError) return <Trouble error={dot.error} />
  if (dot.data === undefined) return <Loading what="Loading the graph…" />
  return children(dot.data)
}
