/** The shape of a requirement, and why some of them wait. Used by the lists beside this file. */

export interface Requirement {
  /** Stable, never used again for something else: `S-STATE-03`, `R31`. */
  id: string
  text: string
  /** Where it stands: a section of the specification, or the rulings. */
  source: string
  status: 'now' | 'later'
  /** Which part of the product a later one waits for. */
  why?: string
}

/** The requirements of one section of the specification; each text is one sentence of it, in short. */
export function section(name: string, prefix: string, entries: Record<string, string | Later>): Requirement[] {
  return Object.entries(entries).map(([number, entry]) =>
    toRequirement(`S-${prefix}-${number}`, `spec §${name}`, entry),
  )
}

export function toRequirement(id: string, source: string, entry: string | Later): Requirement {
  if (typeof entry === 'string') return { id, text: entry, source, status: 'now' }
  return { id, text: entry.text, source, status: 'later', why: entry.why }
}

export interface Later {
  text: string
  why: string
}

/** One `later(why)` for each part of the product that is still to come. */
const later =
  (why: string) =>
  (text: string): Later => ({ text, why })

export const waits = {
  elsewhere: later('workers whose files are on another machine are not provided yet'),
  realityCheck: later('the reality check is not provided yet'),
  sessions: later('LLM sessions are not provided yet'),
}
