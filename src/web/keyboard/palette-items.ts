/** What the palette offers for the typed words: screens, resolvers, instances. Pure. */
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { STATUS_WORDS } from '../../core/view/status-words.ts'

export interface PaletteItem {
  path: string
  label: string
  /** What it is, and in which state. */
  about: string
}

const SCREENS: readonly PaletteItem[] = [
  { path: '/inbox', label: 'Inbox', about: 'screen' },
  { path: '/instances', label: 'Instances', about: 'screen' },
  { path: '/instances?tab=failed', label: 'Failed instances', about: 'screen' },
  { path: '/', label: 'New instance', about: 'screen' },
  { path: '/resolvers', label: 'Resolvers', about: 'screen' },
]

const SHOWN_MAX = 12
const at = encodeURIComponent

/** `records`: what the server found for the words. */
export function paletteItems(
  words: string,
  resolvers: readonly { name: string; description: string }[],
  records: readonly InstanceRecord[],
): PaletteItem[] {
  const wanted = words.trim().toLowerCase()
  const starts = resolvers.flatMap(({ name }) => [
    { path: `/?resolver=${at(name)}`, label: `Start ${name}`, about: 'resolver' },
    { path: `/resolvers/${at(name)}`, label: `About ${name}`, about: 'resolver' },
  ])
  const fixed = [...SCREENS, ...starts].filter(({ label }) => label.toLowerCase().includes(wanted))
  const found = records.map(({ instance_id: id, name, resolver, status }) => ({
    path: `/instances/${id}/timeline`,
    label: cleanLine(name ?? id),
    about: `${resolver}, ${STATUS_WORDS[status].word}`,
  }))
  // Without words the screens come first; with words an instance is the likelier goal than a resolver that happens to match.
  const all = wanted === '' ? [...fixed.slice(0, SCREENS.length), ...found] : [...fixed.slice(0, 4), ...found]
  return all.slice(0, SHOWN_MAX)
}
