/** Finds the instance that a person means: by id, a beginning of it, `@last`, or its name (R3). */
import { ResolveError } from '../../errors.ts'
import { findInstance } from '../../store/home.ts'
import type { InstanceFilter, InstancePage } from '../platform.ts'

/** An id wins over a name; a name means the newest instance that has it. Throws `instance_unknown`, `instance_ambiguous`. */
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
    const { records } = await list({ name: reference, limit: 1 })
    const [newest] = records
    if (newest === undefined) throw error
    return newest.instance_id
  }
}
