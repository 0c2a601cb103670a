/** Picks a resolver; typing filters by name and description. */
import { Combobox } from '@base-ui/react/combobox'
import { Link } from 'wouter'
import type { Resolver } from '../../core/protocol/catalog.ts'
import { Icon } from '../parts/icon.tsx'

interface PickerProps {
  resolvers: readonly Resolver[]
  chosen: Resolver
  onChoose: (name: string) => void
}

interface Item {
  value: string
  label: string
  about: string
}

export function ResolverPicker({ resolvers, chosen, onChoose }: PickerProps) {
  const items = resolvers.map(toItem)
  const value = items.find((item) => item.value === chosen.name) ?? null
  return (
    <div className="picker">
      <label htmlFor="resolver">Resolver</label>
      <Combobox.Root
        items={items}
        value={value}
        onValueChange={(item: Item | null) => item !== null && onChoose(item.value)}
        isItemEqualToValue={(item: Item, other: Item) => item.value === other.value}
        filter={(item: Item, typed: string) => isMeant(item, typed)}
        autoHighlight
      >
        <div className="picker-line">
          <Combobox.Input id="resolver" aria-label="Resolver" className="picker-input" spellCheck={false} />
          <Combobox.Trigger className="picker-open" aria-label="Show all resolvers">
            <Icon name="chevron" />
          </Combobox.Trigger>
        </div>
        <Combobox.Portal>
          <Combobox.Positioner className="popup-place" sideOffset={4} collisionPadding={8}>
            <Combobox.Popup className="popup picker-popup">
              <Combobox.Empty className="picker-empty">No matching resolver.</Combobox.Empty>
              <Combobox.List className="picker-list" aria-label="Resolvers">
                {(item: Item) => (
                  <Combobox.Item key={item.value} value={item} className="picker-item">
                    <span className="picker-name">{item.label}</span>
                    <span className="picker-about">{item.about}</span>
                  </Combobox.Item>
                )}
              </Combobox.List>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
      <p className="quiet">
        {chosen.description}. <Link href={`/resolvers/${encodeURIComponent(chosen.name)}`}>About {chosen.name}</Link>
      </p>
    </div>
  )
}

function toItem({ name, description }: Resolver): Item {
  return { value: name, label: name, about: description }
}

function isMeant({ label, about }: Item, typed: string): boolean {
  return `${label} ${about}`.toLowerCase().includes(typed.trim().toLowerCase())
}
