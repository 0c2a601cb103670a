/** Finds the questions that are new since the last look, and words them for the title, the icon, screen readers and notifications. Pure. */
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import { cleanLine } from '../../core/view/clean.ts'

type Waiting = Pick<InstanceRecord, 'instance_id' | 'name' | 'resolver' | 'pending_inputs'>

/** The number of open questions of each instance. */
export type Asked = ReadonlyMap<string, number>

export function askedIn(records: readonly Waiting[]): Asked {
  return new Map(records.map(({ instance_id: id, pending_inputs: open }) => [id, open]))
}

export function questionsIn(records: readonly Pick<Waiting, 'pending_inputs'>[]): number {
  return records.reduce((sum, { pending_inputs: open }) => sum + open, 0)
}

/** The instances with more open questions than before; none at the first look. */
export function newlyAsking<T extends Waiting>(before: Asked | undefined, records: readonly T[]): T[] {
  if (before === undefined) return []
  return records.filter(({ instance_id: id, pending_inputs: open }) => open > (before.get(id) ?? 0))
}

/** One sentence for all of them; '' for none. The prompt is a text of the resolver and is left out. */
export function newsText(asking: readonly Waiting[]): string {
  const [first, ...more] = asking
  if (first === undefined) return ''
  const name = cleanLine(first.name ?? first.instance_id)
  if (more.length === 0) return `${name} (${first.resolver}) waits for an answer.`
  return `${name} and ${more.length} more ${more.length === 1 ? 'instance waits' : 'instances wait'} for an answer.`
}

/** The icon of the tab as a data address: the mark of the page, with a dot while questions are open. */
export function iconAddress(questions: number): string {
  const count = questions > 99 ? '99' : String(questions)
  const dot =
    questions === 0
      ? ''
      : `<circle cx="22" cy="10" r="10" fill="#b36b00"/><text x="22" y="14.5" text-anchor="middle" font-family="sans-serif" font-weight="700" font-size="${count.length > 1 ? 11 : 13}" fill="#fff">${count}</text>`
  const mark =
    '<rect x="9" y="9" width="14" height="14" rx="3" transform="rotate(45 16 16)" fill="none" stroke="#2a8f86" stroke-width="3.4"/>'
  return `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${mark}${dot}</svg>`)}`
}
