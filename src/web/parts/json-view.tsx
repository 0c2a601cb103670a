/** Shows JSON: nested objects can be expanded, long lists are cut, and every value is a text node. */
import { useState } from 'react'

const OPEN_LEVELS = 3
const ITEMS_MAX = 200
const TEXT_MAX = 2_000

export function JsonView({ value, label }: { value: unknown; label: string }) {
  return (
    <div className="json" role="group" aria-label={label}>
      <Value value={value} level={0} />
    </div>
  )
}

function Value({ value, level }: { value: unknown; level: number }) {
  if (typeof value === 'object' && value !== null) return <Holder value={value} level={level} />
  if (typeof value === 'string') return <span className="json-text">{JSON.stringify(cut(value))}</span>
  return <span className="json-word">{String(value)}</span>
}

function Holder({ value, level }: { value: object; level: number }) {
  const [isOpen, setOpen] = useState(level < OPEN_LEVELS)
  const entries = Object.entries(value)
  const isList = Array.isArray(value)
  if (entries.length === 0) return <span className="json-word">{isList ? '[]' : '{}'}</span>
  const count = `${entries.length} ${isList ? (entries.length === 1 ? 'item' : 'items') : entries.length === 1 ? 'key' : 'keys'}`
  return (
    <>
      <button type="button" className="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {count}
      </button>
      {isOpen && (
        <ul>
          {entries.slice(0, ITEMS_MAX).map(([key, inner]) => (
            <li key={key}>
              <span className="json-key">{key}</span>: <Value value={inner} level={level + 1} />
            </li>
          ))}
          {entries.length > ITEMS_MAX && <li>and {entries.length - ITEMS_MAX} more</li>}
        </ul>
      )}
    </>
  )
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text
}
