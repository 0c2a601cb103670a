/** The nodes of a pipeline as a table: what the picture shows, for phones, screen readers and graphs that are too large to be drawn. */
import { memo } from 'react'
import { cleanLine } from '../../../../core/view/clean.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import { useNow } from '../../../parts/use-now.ts'
import { type GraphNode, NODE_SHAPES } from './graph-nodes.ts'

interface NodeTableProps {
  nodes: readonly GraphNode[]
  chosen: string | undefined
  onChoose: (id: string) => void
}

const TITLES = ['Node', 'Kind', 'Status', 'Runs', 'Attempts', 'Time', 'Cost']

export function NodeTable({ nodes, chosen, onChoose }: NodeTableProps) {
  return (
    <table className="nodes-table" aria-label="Nodes">
      <thead>
        <tr>
          {TITLES.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <Row key={node.id} node={node} isChosen={node.id === chosen} onChoose={onChoose} />
        ))}
      </tbody>
    </table>
  )
}

interface RowProps {
  node: GraphNode
  isChosen: boolean
  onChoose: (id: string) => void
}

const Row = memo(
  ({ node, isChosen, onChoose }: RowProps) => {
    const { id, status, handler, visits, attempts, costUsd, label, reason, about } = node
    const more = [reason ?? '', about].filter((one) => one !== '').join(' · ')
    return (
      <tr data-node-row={id} data-node-status={status}>
        <th scope="row">
          <button
            type="button"
            className="button button-quiet button-small"
            aria-pressed={isChosen}
            onClick={() => onChoose(id)}
          >
            {cleanLine(id)}
          </button>
          {label !== undefined && label !== id && (
            <span className="quiet node-label"> {cleanLine(label).slice(0, 120)}</span>
          )}
        </th>
        <td data-label="Kind">{cleanLine(handler ?? '–')}</td>
        <td data-label="Status">
          <span className="node-shape" aria-hidden="true">
            {NODE_SHAPES[status]}
          </span>{' '}
          {status}
          {more !== '' && <span className="quiet"> · {cleanLine(more).slice(0, 200)}</span>}
        </td>
        <td data-label="Runs">{visits ?? '–'}</td>
        <td data-label="Attempts">{attempts ?? '–'}</td>
        <td data-label="Time">
          <NodeTime node={node} />
        </td>
        <td data-label="Cost">{costUsd === undefined ? '–' : `$${costUsd.toFixed(4)}`}</td>
      </tr>
    )
  },
  (before, after) =>
    before.isChosen === after.isChosen &&
    before.onChoose === after.onChoose &&
    (before.node === after.node || JSON.stringify(before.node) === JSON.stringify(after.node)),
)

/** Of a node that runs, the time since its start. */
export function NodeTime({ node: { status, startedAt, durationMs } }: { node: GraphNode }) {
  if ((status === 'running' || status === 'waiting') && startedAt !== undefined) return <Since at={startedAt} />
  return durationMs === undefined ? '–' : durationText(durationMs)
}

function Since({ at }: { at: number }) {
  return durationText(Math.max(0, useNow() - at))
}
