/** The repositories that the server knows: the directories that lie below `repos/` at its start, and those that the host adds. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { git, gitText } from './git.ts'
import { isBranchName, isRepositoryName } from './names.ts'
import { Refusal } from './refusal.ts'

export interface Repository {
  name: string
  directory: string
  /** A number for clients; it follows from the name. */
  id: number
  createdAt: string
}

export class Repositories {
  readonly root: string
  readonly #known = new Map<string, Repository>()

  constructor(root: string) {
    this.root = root
    mkdirSync(root, { recursive: true, mode: 0o700 })
    for (const entry of readdirSync(root, { withFileTypes: true })) {
      const name = entry.name.slice(0, -'.git'.length)
      if (entry.isDirectory() && entry.name.endsWith('.git') && isRepositoryName(name)) this.#know(name)
    }
  }

  all(): Repository[] {
    return [...this.#known.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  find(name: string): Repository | undefined {
    return this.#known.get(name)
  }

  /** Makes the repository where its directory is missing. The same name again changes only the default branch. */
  async add(name: string, defaultBranch: string | undefined): Promise<Repository> {
    if (!isRepositoryName(name)) throw new Refusal(422, 'the name of a repository is 1 to 100 of a-z A-Z 0-9 _ . -')
    if (defaultBranch !== undefined && !isBranchName(defaultBranch))
      throw new Refusal(422, 'default_branch is not the name of a branch')
    const directory = join(this.root, `${name}.git`)
    const isThere = statSync(join(directory, 'HEAD'), { throwIfNoEntry: false })?.isFile() ?? false
    if (!isThere) {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      await git(directory, ['init', '--quiet', '--bare', '--template=', `--initial-branch=${defaultBranch ?? 'main'}`])
    } else if (defaultBranch !== undefined) {
      await git(directory, ['symbolic-ref', 'HEAD', `refs/heads/${defaultBranch}`])
    }
    return this.#know(name)
  }

  #know(name: string): Repository {
    const directory = join(this.root, `${name}.git`)
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const repository = {
      name,
      directory,
      id: createHash('sha256').update(name).digest().readUInt32BE(0) % 2 ** 31,
      createdAt: statSync(directory).ctime.toISOString(),
    }
    this.#known.set(name, repository)
    return repository
  }
}

export async function defaultBranchOf({ directory }: Repository): Promise<string> {
  return (await gitText(directory, ['symbolic-ref', 'HEAD'])).replace(/^refs\/heads\//, '')
}

/** The bytes of all files below a directory, without following links. */
export async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    // A file may be renamed while others are measured.
    bytes += (await lstat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0
  }
  return bytes
}
