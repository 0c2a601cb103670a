/** Parses the source argument of `resolver add` (R5). Works on the text only: reads nothing from disk and fetches nothing. */
import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { fail } from '../../errors.ts'
import { RESOLVER_NAME_PATTERN } from '../../protocol/manifest.ts'

export interface DirectorySource {
  kind: 'directory'
  /** An absolute path. */
  path: string
}

export interface GitSource {
  kind: 'git'
  /** The address for git: https://…, ssh://…, user@host:path or file:///…; never with a password. */
  url: string
  /** A branch, a tag or a commit; null for the default branch. */
  ref: string | null
  /** The name that the manifest must have, from `name @ …`; null where none was given. */
  name: string | null
  /** The source as given, without the name: the catalog stores it. */
  text: string
}

export interface BuiltinSource {
  kind: 'builtin'
  name: string
}

export interface UploadSource {
  kind: 'upload'
  /** SHA-256 of the tar that a client sent, as hex digits. */
  digest: string
}

/** What the argument of `resolver add` can name. */
export type GivenSource = DirectorySource | GitSource | BuiltinSource

export type Source = GivenSource | UploadSource

/** The schemes that a source may have, lower-case; no other address is passed to git (threats B6). */
const SCHEMES = ['https', 'ssh', 'git+https', 'git+ssh', 'git+file']
const NAMED = /^([A-Za-z0-9_.-]+)\s+@\s+(\S.*)$/
const WITH_SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/
const SCP_LIKE = /^([A-Za-z0-9_][\w.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)(.+)$/
const USER = /^[A-Za-z0-9_][\w.-]*$/
const HOST = /^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/

/** Throws `source_invalid` with the reason. `cwd` is where relative paths begin. */
export function parseSource(given: string, cwd: string): GivenSource {
  const text = given.trim()
  try {
    return read(text, cwd)
  } catch (reason) {
    if (!(reason instanceof Refusal)) throw reason
    throw fail('source_invalid', { source: withoutSecrets(text), reason: reason.reason })
  }
}

/** As {@link parseSource}, for a text that must be a git address. Throws `source_invalid`. */
export function parseGitSource(given: string): GitSource {
  const source = parseSource(given, '/')
  if (source.kind === 'git') return source
  throw fail('source_invalid', { source: withoutSecrets(given.trim()), reason: 'it is not a git address' })
}

const UPLOAD = 'upload:'

/** The source of an entry whose files a client sent; undefined for any other text. */
export function uploadSource(text: string): UploadSource | undefined {
  const digest = /^upload:([0-9a-f]{64})$/.exec(text)?.[1]
  return digest === undefined ? undefined : { kind: 'upload', digest }
}

/** What the catalog keeps of a source: "builtin", an absolute path, the git address as it was given, or `upload:` and a digest. */
export function sourceText(source: Source): string {
  switch (source.kind) {
    case 'builtin':
      return 'builtin'
    case 'directory':
      return source.path
    case 'git':
      return source.text
    case 'upload':
      return `${UPLOAD}${source.digest}`
  }
}

/** The branch, tag or commit that was asked for; null for the default branch and for sources without git. */
export function refOf(source: Source): string | null {
  return source.kind === 'git' ? source.ref : null
}

/** Whether both are the same place; another ref of a repository is the same place, and so is another upload. */
export function isSamePlace(one: Source, other: Source): boolean {
  if (one.kind === 'git' && other.kind === 'git') return one.url === other.url
  if (one.kind === 'upload' && other.kind === 'upload') return true
  return one.kind === other.kind && sourceText(one) === sourceText(other)
}

/**
 * Why a manifest may not name this git address, or null. Local repositories are refused here, because the manifest is
 * untrusted.
 */
export function gitAddressFault(address: string): string | null {
  try {
    const source = read(address, '/')
    if (source.kind !== 'git' || source.url.startsWith('file:')) return 'it is not the address of a git server'
    return null
  } catch (reason) {
    if (reason instanceof Refusal) return reason.reason
    throw reason
  }
}

/** Whether the ref may be passed to git: a valid ref name that cannot be read as an option. */
export function isRef(ref: string): boolean {
  if (!/^(?!-)[\w./-]{1,200}$/.test(ref) || ref.includes('..') || ref.endsWith('.')) return false
  return ref.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'))
}

/** Removes the user part before an @ of an address: it may be a password or a token. */
export function withoutSecrets(text: string): string {
  return text.replace(/(:\/\/)[^/\s]*@/g, '$1…@').replace(/([?&#][^=\s]*=)[^&\s]*/g, '$1…')
}

class Refusal {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/** Refuses for the first reason that holds. */
function refuseWhere(rules: readonly (readonly [holds: boolean, reason: string])[]): void {
  const found = rules.find(([holds]) => holds)
  if (found !== undefined) throw new Refusal(found[1])
}

function read(text: string, cwd: string): GivenSource {
  refuseWhere([
    [text === '', 'it is empty'],
    [text.length > 2048, 'it is longer than 2048 characters'],
    [/\p{Cc}/u.test(text), 'it holds a control character'],
    [text.startsWith('-'), 'it begins with "-", like a flag; write ./ before a directory'],
  ])
  const builtin = /^builtin:(.*)$/.exec(text)
  if (builtin) return { kind: 'builtin', name: resolverName(builtin[1] ?? '') }
  const named = NAMED.exec(text)
  if (!named) return readGit(text, null) ?? { kind: 'directory', path: absolute(text, cwd) }
  const source = readGit(named[2] ?? '', resolverName(named[1] ?? ''))
  if (!source) throw new Refusal('what follows "name @" is not a git address')
  return source
}

function readGit(text: string, name: string | null): GitSource | null {
  const scheme = WITH_SCHEME.exec(text)
  if (scheme) return withScheme((scheme[1] ?? '').toLowerCase(), scheme[2] ?? '', { name, text })
  const helper = /^([A-Za-z0-9]+)::/.exec(text)
  if (helper) throw new Refusal(`"${helper[1]}::" would run a program`)
  const scp = SCP_LIKE.exec(text)
  if (!scp) return null
  const { path, ref } = splitRef(scp[3] ?? '')
  if (path.startsWith('-')) throw new Refusal('its path begins with "-"')
  return { kind: 'git', url: `${scp[1]}@${scp[2]}:${path}`, ref, name, text }
}

function withScheme(scheme: string, rest: string, given: { name: string | null; text: string }): GitSource {
  const slash = rest.indexOf('/')
  refuseWhere([
    [!SCHEMES.includes(scheme), whyNot(scheme)],
    [/[\s\\]/.test(rest), 'an address has no spaces or backslashes'],
    [/[?#]/.test(rest), 'an address ends before "?" and "#"; a ref follows "@"'],
    [slash === -1, 'it names no repository'],
  ])
  const { path, ref } = splitRef(rest.slice(slash))
  refuseWhere([[path.length < 2, 'it names no repository']])
  const transport = scheme.replace('git+', '')
  const authority = checkAuthority(transport, rest.slice(0, slash))
  return { kind: 'git', url: `${transport}://${authority}${path}`, ref, ...given }
}

function checkAuthority(transport: string, authority: string): string {
  if (transport === 'file') {
    if (authority !== '') throw new Refusal('a file address has three slashes: git+file:///path')
    return ''
  }
  const at = authority.lastIndexOf('@')
  const user = authority.slice(0, Math.max(at, 0))
  const host = authority.slice(at + 1)
  const mayHoldSecret = user.includes(':') || (transport === 'https' && at !== -1)
  refuseWhere([
    [mayHoldSecret, 'an address must not hold a user or a password: it would be stored and shown'],
    [at !== -1 && !USER.test(user), 'its user name is not one'],
    [host === '', 'it names no host'],
    [!HOST.test(host), `"${host}" is not a host`],
  ])
  return authority
}

function whyNot(scheme: string): string {
  if (scheme === 'http' || scheme === 'git') return `${scheme}:// can be changed in transit; use https://`
  if (scheme === 'file') return 'write a path for a directory, or git+file:///… for a repository on this machine'
  return `${scheme}:// is not a supported scheme`
}

/** The ref follows the last @ of the path, unless that @ begins a path segment (`/@scope/name`). */
function splitRef(path: string): { path: string; ref: string | null } {
  const at = path.lastIndexOf('@')
  if (at <= 0 || path[at - 1] === '/') return { path, ref: null }
  const ref = path.slice(at + 1)
  if (!isRef(ref)) throw new Refusal(ref === '' ? 'no ref follows "@"' : `"${ref}" is not a branch, tag or commit`)
  return { path: path.slice(0, at), ref }
}

function resolverName(name: string): string {
  if (!new RegExp(RESOLVER_NAME_PATTERN).test(name)) throw new Refusal(`"${name}" is not a resolver's name`)
  return name
}

function absolute(text: string, cwd: string): string {
  const path = text === '~' || text.startsWith('~/') ? `${homedir()}${text.slice(1)}` : text
  return isAbsolute(path) ? resolve(path) : resolve(cwd, path)
}
