/** What one node of a pipeline did: its prompt and answer, or its command and output, its sessions and files. */
import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { Empty } from '../../../parts/notice.tsx'
import { DataPreview } from '../data/data-preview.tsx'
import { type GraphNode, NODE_SHAPES } from './graph-nodes.ts'
import { NodeTime } from './node-table.tsx'

/** The files of a run that readers look for, first. */
const NAMES: Readonly<Record<string, string>> = {
  'prompt.md': 'Prompt',
  'command.txt': 'Command',
  'response.md': 'Answer',
  'output.txt': 'Output',
  'status.json': 'Outcome',
}
const ORDER = Object.keys(NAMES)
const FILES_MAX = 50

interface InspectorProps {
  id: string
  node: GraphNode
  files: readonly DataFile[]
  onClose: () => void
}

export function Inspector({ id, node, files, onClose }: InspectorProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const [dir, setDir] = useState<string | undefined>(undefined)
  const [path, setPath] = useState<string | undefined>(undefined)
  useEffect(() => heading.current?.focus(), [])
  const run = dir !== undefined && node.dirs.includes(dir) ? dir : node.dirs.at(-1)
  const found = run === undefined ? [] : filesIn(`nodes/${run}/`, files)
  const shown = found.find((file) => file.path === path) ?? found[0]
  const facts: [string, string | undefined][] = [
    ['Kind', node.handler],
    ['Label', node.label],
    ['Runs', node.visits?.toString()],
    ['Attempts', node.attempts?.toString()],
    ['Cost', node.costUsd === undefined ? undefined : `$${node.costUsd.toFixed(4)}`],
    ['Reason', node.reason],
  ]
  return (
    <section
      className="inspector"
      aria-labelledby="inspected"
      data-inspected={node.id}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <div className="section-top">
        <h2 id="inspected" ref={heading} tabIndex={-1}>
          {cleanLine(node.id)}
        </h2>
        <button type="button" className="button button-small" onClick={onClose}>
          Close
        </button>
      </div>
      <dl className="facts">
        <dt>Status</dt>
        <dd data-node-status={node.status}>
          <span className="node-shape" aria-hidden="true">
            {NODE_SHAPES[node.status]}
          </span>{' '}
          {node.status}
        </dd>
        <dt>Time</dt>
        <dd>
          <NodeTime node={node} />
        </dd>
        {facts.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name} className="pair">
                <dt>{name}</dt>
                <dd>{cleanLine(value)}</dd>
              </div>
            ),
        )}
      </dl>
      {node.sessions.length > 0 && (
        <p>
          Sessions:{' '}
          {node.sessions.map((session) => (
            <Link key={session} href={`/instances/${id}/sessions?session=${encodeURIComponent(session)}`}>
              {cleanLine(session)}{' '}
            </Link>
          ))}
        </p>
      )}
      {node.dirs.length > 1 && (
        <label className="inspector-run">
          Run{' '}
          <select value={run} onChange={(event) => setDir(event.target.value)}>
            {node.dirs.map((one) => (
              <option key={one} value={one}>
                {cleanLine(one)}
              </option>
            ))}
          </select>
        </label>
      )}
      {shown === undefined ? (
        <Empty>{node.status === 'pending' ? 'It has not run yet.' : 'It has left no files.'}</Empty>
      ) : (
        <>
          <fieldset className="inspector-files">
            <legend className="out-of-sight">Files of this run</legend>
            {found.map((file) => (
              <button
                key={file.path}
                type="button"
                className="button button-small"
                aria-pressed={file.path === shown.path}
                onClick={() => setPath(file.path)}
              >
                {titleOf(file.path)}
              </button>
            ))}
          </fieldset>
          <DataPreview key={shown.path} instance={id} file={shown} />
        </>
      )}
    </section>
  )
}

function filesIn(folder: string, files: readonly DataFile[]): DataFile[] {
  const rank = ({ path }: DataFile) => {
    const at = ORDER.indexOf(path.slice(folder.length))
    return at === -1 ? ORDER.length : at
  }
  return files
    .filter(({ path }) => path.startsWith(folder))
    .toSorted((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path))
    .slice(0, FILES_MAX)
}

function titleOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return Object.hasOwn(NAMES, name) ? (NAMES[name] as string) : cleanLine(name)
}
