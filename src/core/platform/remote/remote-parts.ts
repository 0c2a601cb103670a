/** Small parts of {@link file://./remote.ts}: the next page of a list, the fields of a form's sentences, entries of a catalog. */
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Form, Payload } from '../../protocol/form.ts'

/** The cursor of the next page, from a `Link` header (R9). */
export function nextCursor(link: string | string[] | undefined): string | undefined {
  const next = /<([^>]*)>\s*;\s*rel="?next"?/.exec([link ?? []].flat().join(', '))?.[1]
  if (next === undefined || !URL.canParse(next, 'http://localhost')) return undefined
  return new URL(next, 'http://localhost').searchParams.get('cursor') ?? undefined
}

/** Each failing sentence with its field; none where the form is not known here. */
export async function fieldsOf(
  form: Form | undefined,
  payload: Payload,
  errors: readonly string[],
): Promise<{ id: string; message: string }[]> {
  if (form === undefined || errors.length === 0) return []
  const { formRefusal } = await import('../../form-check/form-check.ts')
  return [...(formRefusal(form, payload)?.fields ?? [])]
}

/** Where things lie on the server's machine is told to its owner alone; to others it is empty. */
export function withoutPlaces(entry: CatalogEntry): CatalogEntry {
  const { dir, source } = entry as { dir: string | null; source: string | null }
  return { ...entry, dir: dir ?? '', source: source ?? '' }
}
