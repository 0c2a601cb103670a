/** Clones the software of a reality check on the host: no credential of it is ever in a room (threats B6). */
import { fail, ResolveError } from '../../errors.ts'
import { fetchSource } from '../../git/fetch-source.ts'
import { gitHosts } from '../../git/git-hosts.ts'
import { CHECK_CLONE_LIMIT_MS, CHECK_SOURCES_MAX_BYTES } from '../../limits.ts'
import { AddressFault, parseRepoAddress } from '../../workspace/repo-address.ts'

/** `https://…@ref`: the last "@" after the host, where what follows can be the name of a branch, a tag or a commit. */
const WITH_REF = /^(.+\/[^@]*)@([A-Za-z0-9][\w./-]{0,200})$/

/** Throws `check_invalid` for an address that is not allowed, and what fetchSource throws. */
export async function cloneSoftware(address: string, into: string, signal: AbortSignal): Promise<{ commit: string }> {
  const plain = address.replace(/^git\+/, '')
  const [, before, ref = null] = WITH_REF.exec(plain) ?? []
  const { url } = parsed(before ?? plain)
  return await fetchSource({
    ...{ url, ref, into, signal },
    limitMs: CHECK_CLONE_LIMIT_MS,
    maxBytes: CHECK_SOURCES_MAX_BYTES,
  })
}

function parsed(address: string): { url: string } {
  try {
    return parseRepoAddress(address, gitHosts())
  } catch (error) {
    if (error instanceof AddressFault)
      throw fail('check_invalid', { reason: `the address of the software: ${error.reason}` })
    throw error instanceof ResolveError ? error : fail('check_invalid', { reason: String(error) })
  }
}
