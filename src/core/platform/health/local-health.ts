/** As `platform.health`, but for a home that may not even be usable: `doctor` begins here, and so does the platform. */
import type { HealthRow } from '../platform.ts'

export async function checkLocalHealth(options: {
  home: string
  builtins: string
  fix: boolean
}): Promise<HealthRow[]> {
  const { checkHealth } = await import('./health.ts')
  return await checkHealth(options)
}
