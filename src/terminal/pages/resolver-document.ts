/** Formats a catalog entry as a JSON document and as lines. */
import type { CatalogEntry } from '../../core/protocol/catalog.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { commandLine } from '../output/shell.ts'

export function resolverDocument(entry: CatalogEntry): Record<string, unknown> {
  const { name, version, description, supports_resume, kind, source, commit, ref, dir, manifest, added_at } = entry
  // A server does not send its source and directory; these fields are then null.
  const places = { source: source === '' ? null : source, dir: dir === '' ? null : dir }
  return { name, version, description, supports_resume, kind, commit, ref, ...places, manifest, added_at }
}

export function resolverLines(entry: CatalogEntry): string[] {
  const { manifest } = entry
  const lines = [
    `${entry.name} ${entry.version}`,
    `  ${cleanLine(entry.description)}`,
    '',
    `  source     ${cleanLine(entry.source || entry.kind)}${entry.ref === null ? '' : ` at ${cleanLine(entry.ref)}`}`,
    ...(entry.commit === null ? [] : [`  commit     ${entry.commit}`]),
    ...(entry.dir === '' ? [] : [`  files      ${cleanLine(entry.dir)}`]),
    `  command    ${manifest.command.map(cleanLine).join(' ')}`,
    `  resume     ${entry.supports_resume ? 'yes' : 'no'}`,
  ]
  const capabilities = manifest.capabilities_required ?? []
  if (capabilities.length > 0) lines.push(`  needs      ${capabilities.map(cleanLine).join(', ')}`)
  if (manifest.container !== undefined) lines.push('  container  yes')
  for (const bundle of manifest.container?.bundles ?? []) lines.push(`  bundle     ${cleanLine(bundle)}`)
  return [...lines, '', `  ${commandLine('resolver', 'schema', entry.name)}`, `  ${commandLine('run', entry.name)}`]
}
