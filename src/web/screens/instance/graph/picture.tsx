/** The picture of a pipeline: Graphviz draws it once, later only classes and numbers change. A table has the same as text. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { Loading, Trouble } from '../../../parts/notice.tsx'
import { draw } from './draw.ts'
import { DRAWN_EDGES_MAX, DRAWN_NODES_MAX, drawableOf } from './drawable.ts'
import { edgeKey, type GraphNode, NODE_SHAPES, type NodeStatus, type TakenEdges } from './graph-nodes.ts'
import { usePanZoom } from './pan-zoom.ts'
import { safeSvg } from './safe-svg.ts'

interface PictureProps {
  source: string
  /** What comes before the names of its nodes in the state: a child pipeline has its own drawing. */
  prefix: string
  nodes: readonly GraphNode[]
  taken: TakenEdges
  chosen: string | undefined
  onChoose: (id: string) => void
}

export function Picture(props: PictureProps) {
  const graph = useMemo(() => drawableOf(props.source), [props.source])
  if (graph.nodes > DRAWN_NODES_MAX || graph.edges > DRAWN_EDGES_MAX) {
    return (
      <p className="quiet" data-drawing="too-large">
        The graph has {graph.nodes.toLocaleString('en')} nodes and {graph.edges.toLocaleString('en')} edges. That is too
        large for a picture: the table has all of them.
      </p>
    )
  }
  return <Drawing {...props} dot={graph.dot} nameOf={graph.nameOf} />
}

interface DrawingProps extends PictureProps {
  dot: string
  nameOf: (drawn: string) => string
}

function Drawing({ dot, nameOf, prefix, nodes, taken, chosen, onChoose }: DrawingProps) {
  const place = useRef<HTMLDivElement>(null)
  const choose = useRef(onChoose)
  choose.current = onChoose
  const drawing = useQuery({
    queryKey: ['drawing', dot],
    queryFn: ({ signal }) => draw(dot, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  const drawn = drawing.data
  useEffect(() => {
    if (drawn === undefined || !('svg' in drawn)) return
    const parsed = new DOMParser().parseFromString(drawn.svg, 'image/svg+xml').documentElement
    const svg = safeSvg(parsed)
    for (const group of svg.querySelectorAll('[data-node]'))
      group.setAttribute('data-node', prefix + nameOf(group.getAttribute('data-node') ?? ''))
    for (const group of svg.querySelectorAll('[data-edge]')) {
      const [from = '', to = ''] = (group.getAttribute('data-edge') ?? '').split('->')
      group.setAttribute('data-edge', edgeKey(prefix + nameOf(from), prefix + nameOf(to)))
    }
    place.current?.replaceChildren(svg)
  }, [drawn, nameOf, prefix])
  useEffect(() => {
    const status = new Map(nodes.map((node) => [node.id, node.status]))
    for (const group of place.current?.querySelectorAll('[data-node]') ?? []) {
      const id = group.getAttribute('data-node') ?? ''
      group.setAttribute('data-node-status', status.get(id) ?? 'pending')
      group.toggleAttribute('data-chosen', id === chosen)
    }
  }, [nodes, drawn, chosen])
  useEffect(() => {
    for (const group of place.current?.querySelectorAll('[data-edge]') ?? [])
      showTaken(group, taken.get(group.getAttribute('data-edge') ?? '') ?? 0)
  }, [taken, drawn])
  useEffect(() => {
    const element = place.current
    if (element === null) return
    // The drawing is no part of React's tree; the table has a button for each node.
    const onClick = (event: Event) => {
      const group = event.target instanceof Element ? event.target.closest('[data-node]') : null
      if (group !== null) choose.current(group.getAttribute('data-node') ?? '')
    }
    element.addEventListener('click', onClick)
    return () => element.removeEventListener('click', onClick)
  }, [])
  const zoom = usePanZoom(place, drawn)
  const problem = drawing.isError
    ? String(drawing.error)
    : drawn !== undefined && 'problem' in drawn
      ? drawn.problem
      : undefined
  return (
    <div className="graph-picture">
      {problem !== undefined && <Trouble error={`The graph can’t be drawn: ${problem}`} />}
      {drawing.isPending && <Loading what="Drawing…" />}
      <div
        className="drawing"
        role="img"
        aria-label="The pipeline; the table has the same information"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        ref={place}
      />
      <div className="graph-tools">
        <Legend />
        <span className="graph-zoom">
          <button type="button" className="button button-small" onClick={zoom.out}>
            <span aria-hidden="true">−</span>
            <span className="out-of-sight">Zoom out</span>
          </button>
          <button type="button" className="button button-small" onClick={zoom.into}>
            <span aria-hidden="true">+</span>
            <span className="out-of-sight">Zoom in</span>
          </button>
          <button type="button" className="button button-small" onClick={zoom.toFit}>
            Fit
          </button>
        </span>
      </div>
    </div>
  )
}

function Legend() {
  return (
    <ul className="legend" aria-label="Legend">
      {(Object.entries(NODE_SHAPES) as [NodeStatus, string][]).map(([status, shape]) => (
        <li key={status} data-node-status={status}>
          <span aria-hidden="true">{shape}</span> {status}
        </li>
      ))}
      <li>
        <span className="legend-edge" aria-hidden="true" /> edge that was taken
      </li>
    </ul>
  )
}

/** Twice or more is told as a number in the middle of the edge. */
function showTaken(group: Element, count: number): void {
  group.toggleAttribute('data-taken', count > 0)
  let text = group.querySelector('[data-count]')
  if (count < 2) {
    text?.remove()
    return
  }
  const path = group.querySelector('path')
  if (text === null && path !== null) {
    const { x, y } = path.getPointAtLength(path.getTotalLength() / 2)
    text = document.createElementNS(group.namespaceURI, 'text')
    text.setAttribute('data-count', '')
    text.setAttribute('x', String(x))
    text.setAttribute('y', String(y))
    text.setAttribute('font-size', '12')
    group.append(text)
  }
  if (text !== null) text.textContent = `×${count}`
}
