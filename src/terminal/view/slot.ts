/**
 * The area below the live frame, used for forms of input requests. `openView` returns it with a live view (`opened.slot`). Its user
 * draws only through it and never writes to stderr directly:
 *
 *   slot.put((room) => <RequestForm room={room} … />)             // the form reads all keys
 *   slot.put((room) => <Minimised … />, { keys: 'shared' })         // the frame still handles d and Ctrl-C
 *   slot.put(undefined)                                            // removed: the frame has the whole area again
 *
 * A second `put` replaces the child; a component of the same type keeps its state, as in React. Event lines keep scrolling above.
 * The frame has one row while a child receives the keys.
 */
import type { ReactNode } from 'react'

export interface Room {
  /** The maximum number of rows of the child; more are cut off. */
  rows: number
  columns: number
  /** The number of frame rows above the child, for positioning its cursor. */
  top: number
}

export type Child = (room: Room) => ReactNode

export interface SlotOptions {
  /** `own` (default): the child receives all keys, also Ctrl-C. `shared`: the frame still handles d and Ctrl-C. */
  keys?: 'own' | 'shared'
}

export interface Slot {
  put(child: Child | undefined, options?: SlotOptions): void
  /** Holds back event lines while another program (an editor) uses the terminal. */
  hold(isHeld: boolean): void
}
