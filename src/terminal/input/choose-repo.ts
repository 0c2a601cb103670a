/** Which repository of an instance a command means. */
import type { Platform } from '../../core/index.ts'
import { usage } from '../output/command-error.ts'

/** The given one, else the only one. Throws `usage` where there is none or more than one. */
export async function chooseRepo(platform: Platform, id: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return given
  const names = (await platform.git.repos(id)).map(({ name }) => name)
  const [only, ...others] = names
  if (only === undefined) throw usage('The instance has no repository.')
  if (others.length > 0) throw usage(`The instance has several repositories; name one: ${names.join(', ')}.`)
  return only
}
