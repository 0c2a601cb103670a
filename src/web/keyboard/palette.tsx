/** The palette: type a few letters to go to an instance, a resolver or a screen. */
import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { instancesQuery, resolversQuery } from '../api/queries.ts'
import { stepFrom } from './keymap.ts'
import { paletteItems } from './palette-items.ts'

const FOUND_MAX = 8

export default function Palette({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState('')
  const [at, setAt] = useState(0)
  const [, go] = useLocation()
  const resolvers = useQuery(resolversQuery).data ?? []
  const text = words.trim()
  const records = useQuery(instancesQuery({ limit: FOUND_MAX, ...(text === '' ? {} : { text }) })).data?.records ?? []
  const items = paletteItems(words, resolvers, records)
  const chosen = Math.min(at, items.length - 1)
  const open = (path: string | undefined) => {
    if (path === undefined) return
    onClose()
    go(path)
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(stepFrom(chosen, items.length, 'next'))
    else if (event.key === 'ArrowUp') setAt(stepFrom(chosen, items.length, 'previous'))
    else if (event.key === 'Enter') open(items[chosen]?.path)
    else return
    event.preventDefault()
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog palette">
          <Dialog.Title className="out-of-sight">Go to</Dialog.Title>
          <input
            role="combobox"
            aria-label="Go to"
            aria-expanded={items.length > 0}
            aria-controls="palette-list"
            aria-autocomplete="list"
            aria-activedescendant={items.length > 0 ? `palette-${chosen}` : undefined}
            className="palette-input"
            placeholder="Instance, resolver or screen"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            value={words}
            onChange={(event) => {
              setWords(event.target.value)
              setAt(0)
            }}
            onKeyDown={press}
          />
          <div role="listbox" id="palette-list" aria-label="Found" className="palette-list">
            {items.map(({ path, label, about }, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys; an option never has the focus.
              <div
                key={path}
                id={`palette-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === chosen}
                className="palette-item"
                onClick={() => open(path)}
              >
                <span className="palette-label">{label}</span>
                <span className="quiet">{about}</span>
              </div>
            ))}
          </div>
          {items.length === 0 && (
            <p className="quiet" role="status">
              No matches.
            </p>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
