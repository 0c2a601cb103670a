/** Small pure checks of {@link file://./local.ts}. */
import { fail } from '../../errors.ts'
import { INPUT_MAX_BYTES } from '../../limits.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Executor } from '../../protocol/journal.ts'

/** The requested executor; the default is a container where the manifest has one. */
export function chooseExecutor(entry: CatalogEntry, wanted: Executor | 'auto'): Executor {
  if (wanted !== 'auto') return wanted
  return entry.manifest.container === undefined ? 'local' : 'docker'
}

/** Throws `input_too_large`. */
export function refuseTooLarge(payload: Payload): void {
  const bytes = Buffer.byteLength(JSON.stringify(payload))
  if (bytes > INPUT_MAX_BYTES) throw fail('input_too_large', { what: 'input', bytes, limit: INPUT_MAX_BYTES })
}
