/** The React hooks of the session. */
import { useSyncExternalStore } from 'react'
import { covers } from '../../core/protocol/http.ts'
import { currentSession, onSession, type Session } from '../api/session.ts'

export function useSession(): Session {
  return useSyncExternalStore(onSession, currentSession)
}

/** Whether the token of the session allows acting on instances. */
export function useMayAct(): boolean {
  const session = useSession()
  return session.state === 'signed-in' && covers(session.who.scope, 'run')
}

/** Whether the token of the session allows managing the server. */
export function useMayAdmin(): boolean {
  const session = useSession()
  return session.state === 'signed-in' && covers(session.who.scope, 'admin')
}
