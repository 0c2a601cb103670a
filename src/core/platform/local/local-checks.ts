/** Small pure checks of {@link file://./local.ts}. */
import { fail } from '../../errors.ts'
import { INPUT_MAX_BYTES } from '../../limits.ts'
import { type CatalogEntry, isUpload } from '../../protocol/catalog.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Executor } from '../../protocol/journal.ts'
import { INSTANCE_NAME_RULE, isInstanceName } from '../../protocol/names.ts'

/**
 * The requested executor; the default is a container where the manifest has one. Throws `upload_needs_container`: an uploaded resolver is
 * never a program of this machine (threats UP-2).
 */
export function chooseExecutor(entry: CatalogEntry, wanted: Executor | 'auto'): Executor {
  const executor = wanted === 'auto' && entry.manifest.container !== undefined ? 'docker' : wanted
  if (isUpload(entry) && executor !== 'docker') throw fail('upload_needs_container', { name: entry.name })
  return executor === 'auto' ? 'local' : executor
}

/** Throws `request_invalid` for a name that no instance can have; null and undefined are none. */
export function refuseName(name: string | null | undefined): void {
  if (name != null && !isInstanceName(name)) throw fail('request_invalid', { problem: INSTANCE_NAME_RULE })
}

/** Throws `input_too_large`. */
export function refuseTooLarge(payload: Payload): void {
  const bytes = Buffer.byteLength(JSON.stringify(payload))
  if (bytes > INPUT_MAX_BYTES) throw fail('input_too_large', { what: 'input', bytes, limit: INPUT_MAX_BYTES })
}
