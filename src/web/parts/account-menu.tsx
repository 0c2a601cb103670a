/** The account menu: the signed-in user, the theme, and signing out. */
import { Menu } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { signOut } from '../api/session.ts'
import { Icon } from './icon.tsx'
import { type ThemeWish, useThemeWish, wishTheme } from './theme.ts'
import { useSession } from './use-session.ts'

const THEMES: readonly { wish: ThemeWish; label: string }[] = [
  { wish: 'system', label: 'As the system' },
  { wish: 'light', label: 'Light' },
  { wish: 'dark', label: 'Dark' },
]

/** `more`: items between the appearance and signing out. */
export function AccountMenu({ more }: { more?: ReactNode }) {
  const session = useSession()
  const wish = useThemeWish()
  const who = session.state === 'signed-in' ? session.who : undefined
  return (
    <Menu.Root>
      <Menu.Trigger className="button button-quiet" aria-label={`${who?.name ?? 'Menu'}: account and appearance`}>
        <Icon name="person" />
        <span className="wide-only">{who?.name ?? 'Menu'}</span>
        <Icon name="chevron" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="popup-place" align="end" sideOffset={6} collisionPadding={8}>
          <Menu.Popup className="popup menu">
            {who !== undefined && (
              <Menu.Group>
                <Menu.GroupLabel className="menu-label">
                  {who.name} may {MAY[who.scope]}
                </Menu.GroupLabel>
              </Menu.Group>
            )}
            <Menu.Group>
              <Menu.GroupLabel className="menu-label">Appearance</Menu.GroupLabel>
              <Menu.RadioGroup value={wish} onValueChange={(value: ThemeWish) => wishTheme(value)}>
                {THEMES.map(({ wish, label }) => (
                  <Menu.RadioItem key={wish} value={wish} className="menu-item" closeOnClick>
                    <Menu.RadioItemIndicator className="menu-mark">✓</Menu.RadioItemIndicator>
                    {label}
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
            </Menu.Group>
            {more}
            {who !== undefined && (
              <>
                <Menu.Separator className="menu-line" />
                <Menu.Item className="menu-item" onClick={() => signOut()}>
                  Sign out
                </Menu.Item>
              </>
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

const MAY = { read: 'read', run: 'run instances', admin: 'do everything' } as const
