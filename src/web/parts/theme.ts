/** The theme: light, dark or that of the system. Stored in the browser; an attribute of the document selects the styles. */
import { useSyncExternalStore } from 'react'

export type ThemeWish = 'system' | 'light' | 'dark'

const KEY = 'resolve.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

function wished(): ThemeWish {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(): void {
  const wish = wished()
  if (wish === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = wish
  for (const notify of listeners) notify()
}

export function wishTheme(wish: ThemeWish): void {
  if (wish === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, wish)
  applyTheme()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  dark.addEventListener('change', listener)
  return () => {
    listeners.delete(listener)
    dark.removeEventListener('change', listener)
  }
}

export const useThemeWish = (): ThemeWish => useSyncExternalStore(subscribe, wished)

/** The effective theme. */
export function useTheme(): 'light' | 'dark' {
  return useSyncExternalStore(subscribe, () => {
    const wish = wished()
    if (wish !== 'system') return wish
    return dark.matches ? 'dark' : 'light'
  })
}
