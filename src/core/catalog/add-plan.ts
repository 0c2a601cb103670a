/**
 * Describes what `resolver add` would do, for the person who confirms it (docs/cli.md): which commands will run, and what is
 * replaced. Pure.
 */
import type { CatalogEntry, SourceKind } from '../protocol/catalog.ts'
import type { Manifest } from '../protocol/manifest.ts'
import { normaliseManifest } from './manifest/parse-manifest.ts'
import { refOf, type Source, sourceText } from './manifest/source.ts'
import type { StagedSource } from './stage-source.ts'

export interface AddPlan {
  name: string
  version: string
  description: string
  kind: SourceKind
  source: string
  ref: string | null
  /** The manifest and source that {@link Catalog.add} will register. */
  commit: string | null
  manifest: Manifest
  /** Commands that run on this machine, without a container. */
  command: string[]
  /** Commands that run in the container; null where the manifest has none. */
  container: { command: string[]; setup_commands: string[]; bundles: string[]; volume_mounts: unknown[] } | null
  capabilities: string[]
  viewport_bundle: string | null
  warnings: string[]
  /** The catalog entry that already has this name. */
  replaces: CatalogEntry | null
  /** True when `replaces` came from another source: adding then needs force. */
  needs_force: boolean
}

/** The entry that adding would make, with the files where they are staged: to start its program before it is added. */
export function plannedEntry({ source, commit, dir, manifest: written }: StagedSource, now: string): CatalogEntry {
  const manifest = normaliseManifest(written)
  const { name, version, description, supports_resume = false } = manifest
  return {
    ...{ name, version, description, supports_resume, kind: entryKind(source.kind), source: sourceText(source) },
    ...{ ref: refOf(source), commit, dir, manifest, added_at: now },
  }
}

/** How callers see the kind of a source, which clients know: an upload is a directory of the home. */
export function entryKind(kind: Source['kind']): SourceKind {
  return kind === 'upload' ? 'directory' : kind
}

export function describePlan(staged: StagedSource, replaces: CatalogEntry | null, needsForce: boolean): AddPlan {
  const manifest = normaliseManifest(staged.manifest)
  const { container } = manifest
  return {
    name: manifest.name,
    version: manifest.version,
    description: manifest.description,
    kind: entryKind(staged.source.kind),
    source: sourceText(staged.source),
    ref: refOf(staged.source),
    commit: staged.commit,
    manifest,
    command: manifest.command,
    container: container
      ? {
          command: container.command ?? manifest.command,
          setup_commands: container.setup_commands ?? [],
          bundles: container.bundles ?? [],
          volume_mounts: container.volume_mounts ?? [],
        }
      : null,
    capabilities: manifest.capabilities_required ?? [],
    viewport_bundle: manifest.viewport_bundle ?? null,
    warnings: staged.warnings,
    replaces,
    needs_force: needsForce,
  }
}
