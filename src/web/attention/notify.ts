/** Notifications of the browser about new questions. Off until the user turns them on; the choice is stored in this browser. */
import { useSyncExternalStore } from 'react'

const KEY = 'resolve.notify'
const TAG = 'resolve.question'
const listeners = new Set<() => void>()

export type NotifyState = 'missing' | 'blocked' | 'on' | 'off'

export function notifyState(): NotifyState {
  // Browsers offer notifications on secure origins only.
  if (!('Notification' in globalThis)) return 'missing'
  if (Notification.permission === 'denied') return 'blocked'
  return localStorage.getItem(KEY) === 'on' && Notification.permission === 'granted' ? 'on' : 'off'
}

/** Asks for the permission, where the user has not given it yet. */
export async function turnNotify(on: boolean): Promise<void> {
  if (on && notifyState() !== 'missing') await Notification.requestPermission()
  if (on) localStorage.setItem(KEY, 'on')
  else localStorage.removeItem(KEY)
  for (const listener of listeners) listener()
}

export function useNotifyState(): NotifyState {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, notifyState)
}

/** Only while the user looks at something else. */
export function notify(text: string, onOpen: () => void): void {
  if (notifyState() !== 'on' || (document.visibilityState === 'visible' && document.hasFocus())) return
  const shown = new Notification('resolve', { body: text, icon: '/icon.svg', tag: TAG })
  shown.onclick = () => {
    focus()
    onOpen()
    shown.close()
  }
}
