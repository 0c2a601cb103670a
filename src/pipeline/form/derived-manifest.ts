/** The manifest of a pipeline that is a resolver of its own: its program is the resolver `pipeline`, which the SDK finds by name. */
import { RESOLVER_FILE, type ResolverFile } from './resolver-file.ts'

const DESCRIPTION_MAX_CHARS = 500

/** Not yet checked. `fileName` is the name of the file, without its folder. */
export function derivedManifest(file: ResolverFile, fileName: string): Record<string, unknown> {
  return {
    name: slugOf(fileName.replace(RESOLVER_FILE, '')),
    version: '1.0.0',
    description: file.description.slice(0, DESCRIPTION_MAX_CHARS).replace(/[\s.\ud800-\udbff]+$/, ''),
    command: ['node', '--input-type=module', '--eval', "import 'resolve-platform/pipeline'", fileName],
    supports_resume: true,
    ...file.manifest,
  }
}

/** `Resolve_expert builder` → `resolve-expert-builder`. */
function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
}
