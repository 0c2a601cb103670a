/** The keys of every screen, and the two dialogs that they open: the help and the palette. */
import { Dialog } from '@base-ui/react/dialog'
import { lazy, Suspense, useEffect, useState } from 'react'
import { actionOf, KEY_HELP, stepFrom } from './keymap.ts'

const Palette = lazy(() => import('./palette.tsx'))

/** What `j` and `k` step through: elements of this kind that are drawn. */
const ITEMS = '[data-key-item]'
const COVERS = '[role="dialog"], [role="menu"], [role="listbox"]'

export function Keyboard() {
  const [open, setOpen] = useState<'help' | 'palette' | null>(null)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event
      if (event.defaultPrevented || event.isComposing) return
      const isTyping = target instanceof Element && target.closest(TYPED) !== null
      const isCovered = document.querySelector(COVERS) !== null
      const action = actionOf({ key, ctrlKey, metaKey, altKey, isTyping, isCovered })
      if (action === null) return
      if (action === 'help' || action === 'palette') setOpen(action)
      else if (action === 'submit') {
        if (!(target instanceof Element) || target.closest('form') === null) return
        target.closest('form')?.requestSubmit()
      } else if (action === 'search') {
        if (!toSearch()) return
      } else step(action)
      event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  const close = () => setOpen(null)
  return (
    <>
      <Help isOpen={open === 'help'} onClose={close} />
      {open === 'palette' && (
        <Suspense fallback={null}>
          <Palette onClose={close} />
        </Suspense>
      )}
    </>
  )
}

const TYPED =
  'input:not([type="checkbox"], [type="radio"], [type="button"]), textarea, select, [contenteditable="true"], [role="combobox"]'

function toSearch(): boolean {
  const field = [...document.querySelectorAll<HTMLInputElement>('main input[type="search"]')].find(isDrawn)
  field?.focus()
  field?.select()
  return field !== undefined
}

function step(action: 'next' | 'previous'): void {
  const items = [...document.querySelectorAll<HTMLElement>(ITEMS)].filter(isDrawn)
  const at = items.findIndex((item) => item === document.activeElement || holdsFocus(item))
  const next = items[stepFrom(at, items.length, action)]
  next?.focus({ preventScroll: true })
  next?.scrollIntoView({ block: 'nearest' })
}

/** An item of a row or a card counts as the present one while the focus is anywhere in that row or card. */
function holdsFocus(item: HTMLElement): boolean {
  return item.closest('[role="row"], section')?.contains(document.activeElement) === true
}

function isDrawn(element: HTMLElement): boolean {
  return element.offsetParent !== null
}

function Help({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">Keys</Dialog.Title>
          <dl className="keys">
            {KEY_HELP.map(({ keys, does }) => (
              <div key={does}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <div className="form-end">
            <Dialog.Close className="button">Close</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
