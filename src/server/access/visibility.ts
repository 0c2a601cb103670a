/** Decides who may see which facts of this machine: only its owner sees file paths and the environment of workers (R7). */
import type { CatalogEntry, Story } from '../../core/index.ts'
import { isUpload } from '../../core/protocol/catalog.ts'

type VisibleEntry = Omit<CatalogEntry, 'dir' | 'source'> & { dir: string | null; source: string | null }

export function visibleEntry(entry: CatalogEntry, isOwner: boolean): VisibleEntry {
  if (isOwner) return entry
  return { ...entry, dir: null, source: entry.kind === 'directory' && !isUpload(entry) ? null : entry.source }
}

export function visibleStory(story: Story, isOwner: boolean): Story {
  if (isOwner) return story
  return { ...story, creation: visibleCreation(story.creation) }
}

/** The view for callers other than the owner. */
export function visibleCreation(creation: Story['creation']): Story['creation'] {
  return { ...creation, environment: {}, resolver: { ...creation.resolver, dir: '' } }
}
