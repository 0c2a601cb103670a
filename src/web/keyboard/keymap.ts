/** Maps a pressed key to what it does on every screen, and lists the keys for the help. Pure. */

export type KeyAction = 'help' | 'search' | 'next' | 'previous' | 'palette' | 'submit'

export interface PressedKey {
  key: string
  ctrlKey: boolean
  metaKey: boolean
  altKey: boolean
  /** The focus is in a field, where letters are typed. */
  isTyping: boolean
  /** A dialog or a menu is open: it has keys of its own. */
  isCovered: boolean
}

export function actionOf({ key, ctrlKey, metaKey, altKey, isTyping, isCovered }: PressedKey): KeyAction | null {
  if (altKey) return null
  const isCommand = ctrlKey || metaKey
  if (isCommand) {
    if (key === 'Enter') return 'submit'
    return key.toLowerCase() === 'k' && !isCovered ? 'palette' : null
  }
  if (isTyping || isCovered) return null
  return LETTERS[key] ?? null
}

const LETTERS: Readonly<Record<string, KeyAction>> = { '?': 'help', '/': 'search', j: 'next', k: 'previous' }

export const KEY_HELP: readonly { keys: readonly string[]; does: string }[] = [
  { keys: ['?'], does: 'Show these keys' },
  { keys: ['Ctrl', 'K'], does: 'Go to an instance, a resolver or a screen' },
  { keys: ['/'], does: 'Search on this screen' },
  { keys: ['j'], does: 'Next row or question' },
  { keys: ['k'], does: 'Previous row or question' },
  { keys: ['Enter'], does: 'Open the row' },
  { keys: ['Ctrl', 'Enter'], does: 'Send the form that you are in' },
  { keys: ['Esc'], does: 'Close a dialog or a menu' },
]

/** The index of the item to go to, of `count`; `at` is the present one, or -1. Stops at both ends. */
export function stepFrom(at: number, count: number, action: 'next' | 'previous'): number {
  if (count === 0) return -1
  if (at === -1) return action === 'next' ? 0 : count - 1
  return Math.min(count - 1, Math.max(0, at + (action === 'next' ? 1 : -1)))
}
