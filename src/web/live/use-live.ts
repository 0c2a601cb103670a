/** The React hook of the instance store; one store per instance while any component uses it. */
import { useMemo, useSyncExternalStore } from 'react'
import { InstanceStore, type LiveInstance } from './instance-live.ts'

export function useLive(id: string): LiveInstance {
  const store = useMemo(() => new InstanceStore(id), [id])
  return useSyncExternalStore(store.subscribe, store.view)
}
