/** Which names of repositories, branches and commits the server takes. Pure. */

const REPOSITORY = /^(?![.-])[\w.-]{1,100}$/
/** What `git check-ref-format` refuses in a name, and what begins like an option. */
const NO_REF = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$|\.lock(?:\/|$)|(?:^|\/)\.|^@$|^HEAD$/
const REF_MAX_CHARS = 255

export function isRepositoryName(name: string): boolean {
  return REPOSITORY.test(name) && !/\.(?:git|lock)$/i.test(name)
}

/** Also for the part of a ref after `refs/heads/` or `refs/tags/`. */
export function isBranchName(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= REF_MAX_CHARS && !NO_REF.test(name) && !name.startsWith('refs/')
}

/** A whole object id: SHA-1 or SHA-256. */
export function isObjectId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)
}

/** Whether a ref of a push is none: `0000…`. */
export function isNothing(id: string): boolean {
  return /^0+$/.test(id)
}
