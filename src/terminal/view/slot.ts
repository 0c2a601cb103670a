/**
 * The place below the frame where something else is drawn while a run goes on: the form of a question. `openView` gives it
 * where a live view is open (`opened.slot`); whoever takes it draws through it and never writes to stderr himself:
 *
 *   slot.put((room) => <QuestionForm room={room} … />)             // the form reads all keys
 *   slot.put((room) => <Minimised … />, { keys: 'shared' })         // the frame keeps d and Ctrl-C
 *   slot.put(undefined)                                            // gone: the frame has the terminal again
 *
 * `put` again replaces what is there; a component of the same type keeps its state, as React does. Lines of the log go on
 * scrolling above. The frame above takes one row while a child holds the keys.
 */
import type { ReactNode } from 'react'

export interface Room {
  /** Rows the child may use at most; what is more is cut off. */
  rows: number
  columns: number
  /** Rows of the frame above the child: where its own cursor counts from. */
  top: number
}

export type Child = (room: Room) => ReactNode

export interface SlotOptions {
  /** `own` (default): every key is the child's, Ctrl-C too. `shared`: d and Ctrl-C stay the frame's. */
  keys?: 'own' | 'shared'
}

export interface Slot {
  put(child: Child | undefined, options?: SlotOptions): void
  /** While another program has the terminal (an editor), lines of the log wait. */
  hold(isHeld: boolean): void
}
