/** The search field and the filters of a list; each of them is part of the address. */
import { type KeyboardEvent, useState } from 'react'
import { STATUS_WORDS } from '../../../core/view/status-words.ts'
import { filterCount, type ListChoice, TABS } from './list-address.ts'

interface FiltersProps {
  choice: ListChoice
  resolvers: readonly string[]
  onChange: (choice: ListChoice) => void
}

export function Filters({ choice, resolvers, onChange }: FiltersProps) {
  const count = filterCount(choice)
  const [isOpen, setOpen] = useState(count > 0)
  const change = (part: Partial<ListChoice>) => onChange({ ...choice, ...part })
  return (
    <search className="filters">
      <div className="filters-line">
        <input
          type="search"
          className="filter"
          aria-label="Only instances with these words in the name, a label, the resolver or the input"
          placeholder="Name, label, resolver or input"
          maxLength={200}
          value={choice.text}
          onChange={(event) => change({ text: event.target.value })}
        />
        <button type="button" className="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Filters{count > 0 ? ` (${count})` : ''}
        </button>
        <select
          aria-label="Order"
          value={choice.order}
          onChange={({ target }) => change({ order: target.value === 'oldest' ? 'oldest' : 'newest' })}
        >
          <option value="newest">Newest first</option>
          <option value="oldest">Oldest first</option>
        </select>
      </div>
      {isOpen && (
        <div className="filters-more">
          <label>
            Status
            <select
              value={choice.status ?? ''}
              onChange={({ target }) =>
                change({ status: TABS[choice.tab].status.find((one) => one === target.value) ?? null })
              }
            >
              <option value="">Any of this tab</option>
              {TABS[choice.tab].status.map((status) => (
                <option key={status} value={status}>
                  {STATUS_WORDS[status].word}
                </option>
              ))}
            </select>
          </label>
          <label>
            Resolver
            <select value={choice.resolver} onChange={({ target }) => change({ resolver: target.value })}>
              <option value="">Any</option>
              {[...new Set([...resolvers, ...(choice.resolver === '' ? [] : [choice.resolver])])].map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <Committed label="Exact name" value={choice.name} onCommit={(name) => change({ name })} />
          <Committed
            label="Labels"
            placeholder="team=red stage"
            value={choice.labels.join(' ')}
            onCommit={(text) => change({ labels: text.split(/\s+/).filter((one) => one !== '') })}
          />
          <label>
            Created from
            <input type="date" value={choice.since} onChange={({ target }) => change({ since: target.value })} />
          </label>
          <label>
            Created up to
            <input type="date" value={choice.until} onChange={({ target }) => change({ until: target.value })} />
          </label>
          {count > 0 && (
            <button
              type="button"
              className="button button-quiet"
              onClick={() => change({ status: null, resolver: '', name: '', labels: [], since: '', until: '' })}
            >
              Clear the filters
            </button>
          )}
        </div>
      )}
    </search>
  )
}

interface CommittedProps {
  label: string
  value: string
  placeholder?: string
  onCommit: (value: string) => void
}

/** A field that takes effect when it is left or Enter is pressed: half a name matches nothing. */
function Committed({ label, value, placeholder, onCommit }: CommittedProps) {
  const commit = (text: string) => text.trim() !== value && onCommit(text.trim())
  const press = (event: KeyboardEvent<HTMLInputElement>) => event.key === 'Enter' && commit(event.currentTarget.value)
  return (
    <label>
      {label}
      <input
        key={value}
        type="text"
        autoComplete="off"
        maxLength={200}
        defaultValue={value}
        placeholder={placeholder}
        onBlur={(event) => commit(event.target.value)}
        onKeyDown={press}
      />
    </label>
  )
}
