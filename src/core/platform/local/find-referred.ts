/** Finds the instance that a person means: by id, a beginning of it, `@last`, or its name (R3). */
import { fail, ResolveError } from '../../errors.ts'
import { findInstance } from '../../store/home.ts'
import type { InstanceFilter, InstancePage } from '../platform.ts'

/** An ambiguous name is refused with the ids that have it, the newest first, this many. */
const NAMED_MAX = 10

/** An id wins over a name. Throws `instance_unknown`, `instance_ambiguous`. */
export async function findReferred(
  home: string,
  reference: string,
  list: (filter: InstanceFilter) => Promise<InstancePage>,
): Promise<string> {
  try {
    return findInstance(home, reference)
  } catch (error) {
    const isUnknown = error instanceof ResolveError && error.code === 'instance_unknown'
    if (!isUnknown || reference === '@last') throw error
    const { records } = await list({ name: reference, limit: NAMED_MAX })
    const [only, other] = records.map((record) => record.instance_id)
    if (only === undefined) throw error
    if (other === undefined) return only
    throw fail('instance_ambiguous', { id: reference, matches: records.map((record) => record.instance_id) })
  }
}
