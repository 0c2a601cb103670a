/** The choice of a list in the address: tab, filters, order. Pure; the address is written by other people too. */
import type { StatusCounts } from '../../../core/protocol/instance.ts'
import { isStatus, isTerminal, STATUSES, type Status } from '../../../core/protocol/status.ts'

export const TABS = {
  'needs-you': { label: 'Needs you', empty: 'No instance waits for an answer.', status: ['awaiting_input'] },
  active: { label: 'Active', empty: 'No instance is running.', status: STATUSES.filter((one) => !isTerminal(one)) },
  done: { label: 'Done', empty: 'No instance has ended yet.', status: ['completed', 'cancelled'] },
  failed: { label: 'Failed', empty: 'No instance has failed.', status: ['failed'] },
  all: { label: 'All', empty: 'No instances yet.', status: STATUSES },
} as const satisfies Record<string, { label: string; empty: string; status: readonly Status[] }>

export type TabName = keyof typeof TABS

export interface ListChoice {
  tab: TabName
  /** One status of the tab; null for all of them. */
  status: Status | null
  resolver: string
  name: string
  labels: readonly string[]
  /** Days of the user's calendar, YYYY-MM-DD; '' for none. `until` is the last day that counts. */
  since: string
  until: string
  text: string
  order: 'newest' | 'oldest'
}

const DAY = /^\d{4}-\d\d-\d\d$/

export function choiceIn(search: URLSearchParams): ListChoice {
  const tab = search.get('tab') ?? 'all'
  const status = search.get('status')
  const day = (name: string) => {
    const value = search.get(name) ?? ''
    return DAY.test(value) && !Number.isNaN(Date.parse(value)) ? value : ''
  }
  return {
    tab: Object.hasOwn(TABS, tab) ? (tab as TabName) : 'all',
    status: isStatus(status) ? status : null,
    resolver: search.get('resolver') ?? '',
    name: search.get('name') ?? '',
    labels: search.getAll('label').filter((label) => label !== ''),
    since: day('since'),
    until: day('until'),
    text: search.get('text') ?? '',
    order: search.get('order') === 'oldest' ? 'oldest' : 'newest',
  }
}

/** The address of a list; what is not narrowed is left out. */
export function addressOfList(choice: ListChoice): string {
  const search = new URLSearchParams({ tab: choice.tab })
  for (const name of ['status', 'resolver', 'name'] as const) {
    const value = choice[name]
    if (value !== null && value !== '') search.set(name, value)
  }
  for (const label of choice.labels) search.append('label', label)
  for (const name of ['since', 'until', 'text'] as const) if (choice[name] !== '') search.set(name, choice[name])
  if (choice.order === 'oldest') search.set('order', 'oldest')
  return `/instances?${search}`
}

export interface ListNarrowing {
  resolver?: string
  name?: string
  label?: string[]
  since?: string
  until?: string
  text?: string
}

/** What the API is asked for, beside the statuses. Days begin at midnight where the user is. */
export function narrowingOf({ resolver, name, labels, since, until, text }: ListChoice): ListNarrowing {
  return {
    ...(resolver === '' ? {} : { resolver }),
    ...(name === '' ? {} : { name }),
    ...(labels.length === 0 ? {} : { label: [...labels] }),
    ...(since === '' ? {} : { since: midnight(since, 0) }),
    ...(until === '' ? {} : { until: midnight(until, 1) }),
    ...(text === '' ? {} : { text }),
  }
}

function midnight(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return new Date(year, month - 1, date + later).toISOString()
}

/** The statuses that the list shows, apart: those that have not ended stand first, whatever their age. */
export function statusesOf({ tab, status }: ListChoice): { open: Status[]; ended: Status[] } {
  const shown = TABS[tab].status.filter((one) => status === null || status === one)
  return { open: shown.filter((one) => !isTerminal(one)), ended: shown.filter(isTerminal) }
}

/** How many filters beside tab and text narrow the list. */
export function filterCount({ status, resolver, name, labels, since, until }: ListChoice): number {
  return [status ?? '', resolver, name, since, until].filter((value) => value !== '').length + labels.length
}

/** The number on a tab; undefined while it is not known. */
export function countOf(tab: TabName, counts: StatusCounts | undefined): number | undefined {
  if (counts === undefined) return undefined
  const statuses: readonly Status[] = TABS[tab].status
  return statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
}
