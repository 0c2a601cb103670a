/** The check of {@link file://./health.ts} for the forge: which one gets the token, and where the token comes from. The token is not shown, and no server is asked. */
import { ResolveError } from '../../errors.ts'
import { gitSettings, hostOfToken } from '../../forge/git-settings.ts'
import type { HealthRow } from '../platform.ts'

export function checkForge(env: NodeJS.ProcessEnv = process.env): HealthRow {
  const row = (state: HealthRow['state'], message: string, mend: string | null = null): HealthRow => ({
    ...{ check: 'forge', state, message, mend },
  })
  try {
    const settings = gitSettings(env)
    const host = hostOfToken(settings)
    const { token, tokenCommand, provider, baseUrl } = settings
    const source =
      token !== undefined
        ? 'RESOLVE_GIT_HOST_TOKEN'
        : tokenCommand !== undefined
          ? 'RESOLVE_GIT_TOKEN_COMMAND'
          : undefined
    if (source === undefined) {
      const only =
        'only public repositories are cloned, and only "resolve instance promote" at a terminal finds a token'
      return row('note', `There is no token for a git host: ${only}`, 'export RESOLVE_GIT_HOST_TOKEN=TOKEN')
    }
    if (host === undefined) {
      return row(
        'failed',
        `${source} is for no host: the provider has no public one`,
        'export RESOLVE_GIT_BASE_URL=URL',
      )
    }
    if (baseUrl?.startsWith('http:') === true) return row('note', `${source} is sent to ${host} without encryption`)
    const forge = provider === undefined ? '' : ` (${provider})`
    return row('ok', `${source} is for ${host}${forge} and is sent to no other host`)
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error
    return row('failed', error.message, 'unset RESOLVE_GIT_PROVIDER RESOLVE_GIT_BASE_URL')
  }
}
