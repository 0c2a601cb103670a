/** Resolvers: their sources, manifests and preparation. */
import type { Entry } from './entry.ts'

export const resolverErrors = {
  manifest_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { path: string; errors: readonly string[] }) =>
      `${d.path} is not a valid manifest (${d.errors.length} ${d.errors.length === 1 ? 'error' : 'errors'}).`,
    outside: () => 'The manifest is not valid.',
    hint: () => 'Fix the listed errors and add the resolver again; docs/manifest.md describes every field.',
  },
  resolver_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { name: string; nearest?: string }) =>
      `No resolver is named "${d.name}".${d.nearest === undefined ? '' : ` Did you mean "${d.nearest}"?`}`,
    hint: () => 'See "resolve resolver list", or add one with "resolve resolver add <path-or-git-url>".',
  },
  resolver_exists: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { name: string; source: string }) =>
      `A resolver named "${d.name}" was already added from ${d.source}.`,
    outside: (d: { name: string }) =>
      `A resolver named "${d.name}" was already added from another source; --force replaces it.`,
    hint: () => 'Replace it with --force, or change the name in the manifest.',
  },
  resolver_builtin: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { name: string }) =>
      `"${d.name}" is a built-in resolver: it is part of resolve and has no source to fetch.`,
  },
  source_invalid: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { source: string; reason: string }) => `Can't add "${d.source}": ${d.reason}.`,
    outside: () => "Can't add the source.",
    hint: () =>
      'A source is a directory, https://…, git+https://…@ref, ssh://…, git@host:path or "name @ git+https://…@ref".',
  },
  source_missing: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { path: string; found?: 'nothing' | 'no directory' }) => {
      if (d.found === 'nothing') return `There is no directory ${d.path}.`
      return d.found === 'no directory' ? `${d.path} is not a directory.` : `There is no manifest.json in ${d.path}.`
    },
    outside: () => 'There is no manifest.json there.',
    hint: () => 'A resolver is a directory with a manifest.json at its top.',
  },
  archive_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { problem: string }) => `The archive is refused: ${d.problem}.`,
    hint: () => 'docs/http.md, Uploads, says what an archive may have.',
  },
  uploads_off: {
    kind: 'user',
    http: 403,
    exit: 4,
    message: (_: Record<string, never>) => 'This server takes no uploads.',
    hint: () => 'Its operator allows them with "resolve serve --uploads", or adds the resolver on its machine.',
  },
  upload_needs_container: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { name: string }) => `An uploaded resolver such as "${d.name}" runs in a container only.`,
    hint: () => 'Add "container" to its manifest and omit --executor local, or add it on the machine of the server.',
  },
  catalog_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the catalog ${d.path}: ${d.reason}.`,
    outside: () => "The catalog can't be read.",
    hint: () => 'Fix the file, or move it away to start with the built-in resolvers only.',
  },
  resolver_preparing: {
    kind: 'environment',
    http: 503,
    exit: 10,
    message: (d: { resolver: string; step?: number | undefined; total?: number | undefined }) =>
      `The resolver "${d.resolver}" is being prepared${d.step === undefined ? '' : `: setup step ${d.step} of ${d.total}`}.`,
    hint: () => 'Try again in a moment; an instance of it can be created at once.',
  },
} as const satisfies Record<string, Entry>
