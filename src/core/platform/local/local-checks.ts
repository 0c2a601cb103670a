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

/** The environment that container_setup adds: only names and values that are strings (R44). */
export function environmentOf(spec: Record<string, unknown> | null): Record<string, string> {
  const setup = spec?.['container_setup']
  const wanted =
    typeof setup === 'object' && setup !== null ? (setup as Record<string, unknown>)['environment'] : undefined
  if (typeof wanted !== 'object' || wanted === null) return {}
  const isSound = ([name, value]: [string, unknown]) =>
    /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && typeof value === 'string'
  return Object.fromEntries(Object.entries(wanted).filter(isSound)) as Record<string, string>
}
