/** Converts key presses of Ink to the form keys of {@link file://./form-state.ts}. */
import type { Key } from 'ink'
import type { Edit } from './text-edit.ts'

export type FormKey =
  | { type: 'text'; text: string }
  | { type: 'next' | 'previous' | 'up' | 'down' | 'enter' | 'new-line' | 'escape' | 'interrupt' | 'editor' }
  | { type: Edit }

const CONTROL: Record<string, FormKey> = {
  a: { type: 'home' },
  c: { type: 'interrupt' },
  e: { type: 'editor' },
  j: { type: 'new-line' },
  n: { type: 'next' },
  p: { type: 'previous' },
  u: { type: 'cut-line' },
  w: { type: 'cut-word' },
}

/** Returns several keys if the terminal sends quick typing in one piece. */
export function formKeys(input: string, key: Key): FormKey[] {
  if (key.escape) return [{ type: 'escape' }]
  if (key.return) return [{ type: key.meta || key.shift ? 'new-line' : 'enter' }]
  if (key.tab) return [{ type: key.shift ? 'previous' : 'next' }]
  if (key.upArrow) return [{ type: 'up' }]
  if (key.downArrow) return [{ type: 'down' }]
  if (key.leftArrow) return [{ type: 'left' }]
  if (key.rightArrow) return [{ type: 'right' }]
  if (key.home) return [{ type: 'home' }]
  if (key.end) return [{ type: 'end' }]
  if (key.backspace) return [{ type: key.meta ? 'cut-word' : 'backspace' }]
  if (key.delete) return [{ type: 'delete' }]
  if (key.ctrl) return CONTROL[input] === undefined ? [] : [CONTROL[input]]
  if (key.meta || input === '') return []
  return [...input.matchAll(/[\u0000-\u001f]|[^\u0000-\u001f]+/g)].flatMap(([piece]) => pieceKey(piece) ?? [])
}

function pieceKey(piece: string): FormKey | undefined {
  if (piece === '\r') return { type: 'enter' }
  if (piece === '\t') return { type: 'next' }
  if (piece >= ' ') return { type: 'text', text: piece }
  return CONTROL[String.fromCharCode(piece.charCodeAt(0) + 0x60)]
}
