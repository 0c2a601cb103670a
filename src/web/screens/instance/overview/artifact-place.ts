/** Where an artifact can be looked at: an outside address, a tab of the instance, or nowhere. Pure. */
import type { StoryArtifact } from '../../../../core/view/story.ts'

export interface ArtifactPlace {
  /** The address; null if the artifact is only text. */
  href: string | null
  isOutside: boolean
}

const NOWHERE: ArtifactPlace = { href: null, isOutside: false }

export function artifactPlace(id: string, { kind, value, metadata }: StoryArtifact, hasRepos: boolean): ArtifactPlace {
  for (const address of [value, metadata?.['url'], metadata?.['pr_url']])
    if (typeof address === 'string' && isWebAddress(address)) return { href: address, isOutside: true }
  if (kind === 'file' && value !== '')
    return inside(`/instances/${id}/data?file=${encodeURIComponent(dataPath(value))}`)
  if ((kind === 'branch' || kind === 'commit' || kind === 'pr') && hasRepos) return inside(`/instances/${id}/changes`)
  return NOWHERE
}

/** Resolvers name files of their data directory with and without it. */
export function dataPath(value: string): string {
  return value.replace(/^(?:\.\/)?data\//, '')
}

function inside(href: string): ArtifactPlace {
  return { href, isOutside: false }
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\/\S+$/i.test(text) && URL.canParse(text)
}
