/** The item of the account menu that turns notifications on and off. */
import { Menu } from '@base-ui/react/menu'
import { type NotifyState, turnNotify, useNotifyState } from './notify.ts'

const WORDS: Readonly<Record<NotifyState, string>> = {
  on: 'Notify me of questions',
  off: 'Notify me of questions',
  blocked: 'Notifications are blocked in the browser',
  missing: 'Notifications need HTTPS',
}

export function NotifyItem() {
  const state = useNotifyState()
  return (
    <>
      <Menu.Separator className="menu-line" />
      <Menu.CheckboxItem
        className="menu-item"
        checked={state === 'on'}
        disabled={state === 'blocked' || state === 'missing'}
        closeOnClick
        onCheckedChange={(on: boolean) => void turnNotify(on)}
      >
        <Menu.CheckboxItemIndicator className="menu-mark">✓</Menu.CheckboxItemIndicator>
        {WORDS[state]}
      </Menu.CheckboxItem>
    </>
  )
}
