/** Shows a pipeline as a graph: Graphviz draws it once, later only CSS classes change. A list has the same information as text. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { fetchData } from '../../../api/calls.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { useDataFiles } from '../data/data.tsx'
import { useInstanceState } from '../data/state.tsx'
import { type GraphNode, NODE_SHAPES, nodesOf } from './graph-nodes.ts'
import { safeSvg } from './safe-svg.ts'

const FILE = 'graph.dot'
const MAX_BYTES = 512 * 1024

export default function GraphTab(props: TabProps) {
  const files = useDataFiles(props)
  const nodes = nodesOf(useInstanceState(props).data)
  const file = files.data?.find(({ path }) => path === FILE)
  const dot = useQuery({
    queryKey: ['graph', props.id, file?.modified_at],
    queryFn: async () => (await fetchData(props.id, FILE, { limit: MAX_BYTES })).text(),
    enabled: file !== undefined && file.bytes > 0,
    placeholderData: (before: string | undefined) => before,
  })
  if (files.isPending) return <Loading what="Loading the graph…" />
  if (files.isError) return <Trouble error={files.error} />
  if (file === undefined) return <Empty>This instance has no graph.</Empty>
  if (dot.isError) return <Trouble error={dot.error} />
  if (dot.data === undefined) return <Loading what="Loading the graph…" />
  return (
    <div className="graph">
      <Picture dot={dot.data} nodes={nodes} />
      <section aria-labelledby="nodes">
        <h2 id="nodes">Nodes</h2>
        {nodes.length === 0 && <p className="quiet">The resolver does not report the status of the nodes.</p>}
        <ul className="nodes">
          {nodes.map(({ id, status, about }) => (
            <li key={id} data-node-status={status}>
              <span aria-hidden="true">{NODE_SHAPES[status]}</span> <strong>{id}</strong> {status}
              {about !== '' && <span className="quiet"> · {about}</span>}
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}

function Picture({ dot, nodes }: { dot: string; nodes: readonly GraphNode[] }) {
  const place = useRef<HTMLDivElement>(null)
  const drawing = useQuery({
    queryKey: ['drawing', dot],
    queryFn: async () => {
      const { instance } = await import('@viz-js/viz')
      return (await instance()).renderSVGElement(dot, {
        graphAttributes: { bgcolor: 'transparent' },
        // The font whose metrics are closest to that of the page.
        nodeAttributes: { fontname: 'Arial' },
        edgeAttributes: { fontname: 'Arial' },
      })
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  useEffect(() => {
    if (drawing.data !== undefined) place.current?.replaceChildren(safeSvg(drawing.data))
  }, [drawing.data])
  useEffect(() => {
    const status = new Map(nodes.map((node) => [node.id, node.status]))
    for (const group of place.current?.querySelectorAll('[data-node]') ?? []) {
      group.setAttribute('data-node-status', status.get(group.getAttribute('data-node') ?? '') ?? 'pending')
    }
  }, [nodes, drawing.data])
  if (drawing.isError) return <Trouble error={`The graph can’t be drawn: ${String(drawing.error)}`} />
  return (
    <>
      {drawing.isPending && <Loading what="Drawing…" />}
      <div
        className="drawing"
        role="img"
        aria-label="The pipeline; the list next to it has the same information"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        ref={place}
      />
    </>
  )
}
