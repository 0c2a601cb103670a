/** The frame around every screen: navigation, the number of open questions, and the account menu. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { instancesQuery, WAITING } from '../api/queries.ts'
import { useReachable } from '../api/reach.ts'
import { AccountMenu } from './account-menu.tsx'
import { Icon, type IconName } from './icon.tsx'

const PLACES: readonly { path: string; label: string; icon: IconName }[] = [
  { path: '/', label: 'New', icon: 'new' },
  { path: '/instances', label: 'Instances', icon: 'list' },
  { path: '/inbox', label: 'Inbox', icon: 'inbox' },
  { path: '/resolvers', label: 'Resolvers', icon: 'box' },
]

/** `menu`: more items of the account menu. */
export function AppFrame({ children, menu }: { children: ReactNode; menu?: ReactNode }) {
  const isOnline = useReachable()
  const [path] = useLocation()
  const waiting = useQuery(instancesQuery({ status: WAITING, limit: 100 })).data?.records ?? []
  const questions = waiting.reduce((sum, record) => sum + record.pending_inputs, 0)
  const isHere = (place: string) => (place === '/' ? path === '/' : path === place || path.startsWith(`${place}/`))
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="bar">
        <Link href="/" className="brand" aria-label="resolve, start">
          <span className="brand-mark" aria-hidden="true" />
          resolve
        </Link>
        <nav className="places" aria-label="Main">
          {PLACES.map(({ path: place, label, icon }) => (
            <Link key={place} href={place} className="place" aria-current={isHere(place) ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{label}</span>
              {place === '/inbox' && questions > 0 && (
                <span className="badge">
                  {questions}
                  <span className="out-of-sight"> waiting</span>
                </span>
              )}
            </Link>
          ))}
        </nav>
        <AccountMenu more={menu} />
      </header>
      <div role="status" className="offline-place">
        {!isOnline && (
          <p className="offline" data-offline-bar="">
            Can’t reach the server. The page shows the last known state and keeps trying.
          </p>
        )}
      </div>
      {children}
    </>
  )
}
