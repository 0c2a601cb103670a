/** React's side of the session. */
import { useSyncExternalStore } from 'react'
import { covers } from '../../core/protocol/http.ts'
import { currentSession, onSession, type Session } from '../api/session.ts'

export function useSession(): Session {
  return useSyncExternalStore(onSession, currentSession)
}

/** Whether whoever is signed in may act on instances. */
export function useMayAct(): boolean {
  const session = useSession()
  return session.state === 'signed-in' && covers(session.who.scope, 'run')
}
