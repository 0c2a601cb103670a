/** What sending a directory to a server would do, read on the client: `resolver add` shows it before it sends the archive. */
import { ResolveError } from '../errors.ts'
import { type CatalogEntry, isUpload } from '../protocol/catalog.ts'
import type { AddPlan } from './add-plan.ts'

/**
 * `server` tells what it has under that name. Throws `archive_refused`, `upload_needs_container` as the server would. The modules that check
 * a manifest are loaded here, because the index of the core is loaded by every command.
 */
export async function planUpload(
  path: string,
  server: { resolver(name: string): Promise<CatalogEntry> },
): Promise<AddPlan> {
  const [{ describePlan }, { checkedUpload }] = await Promise.all([
    import('./add-plan.ts'),
    import('./stage-upload.ts'),
  ])
  const { manifest, warnings } = await checkedUpload(path)
  const replaces = await server.resolver(manifest.name).catch(nullIfUnknown)
  const staged = { source: { kind: 'directory', path }, commit: null, dir: path, manifest, warnings } as const
  return describePlan(staged, replaces, replaces !== null && !isUpload(replaces))
}

function nullIfUnknown(error: unknown): null {
  if (error instanceof ResolveError && error.code === 'resolver_unknown') return null
  throw error
}
