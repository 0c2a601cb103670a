/**
 * The names of an archive: each once, also where case and Unicode form are ignored, as on file systems that do so. Directories that
 * are only implied by their files count too. Pure.
 */
import { UPLOAD_ENTRIES_MAX, UPLOAD_PATH_MAX_BYTES } from '../limits.ts'
import { refused } from './refused.ts'

interface Known {
  path: string
  isDirectory: boolean
  /** The archive has an entry for it. */
  isGiven: boolean
}

export class ArchiveNames {
  readonly #known = new Map<string, Known>()

  addFile(path: string): void {
    this.#add(path, { isDirectory: false, isGiven: true })
  }

  addDirectory(path: string): void {
    this.#add(path, { isDirectory: true, isGiven: true })
  }

  /** Parents before their children. */
  directories(): string[] {
    const found = [...this.#known.values()].filter(({ isDirectory }) => isDirectory)
    return found.map(({ path }) => path).sort((one, other) => one.split('/').length - other.split('/').length)
  }

  #add(path: string, given: Omit<Known, 'path'>): void {
    if (Buffer.byteLength(path) > UPLOAD_PATH_MAX_BYTES)
      throw refused(`a path has more than ${UPLOAD_PATH_MAX_BYTES} bytes`)
    const slash = path.lastIndexOf('/')
    if (slash !== -1) this.#add(path.slice(0, slash), { isDirectory: true, isGiven: false })
    const key = path.normalize('NFC').toLowerCase()
    const known = this.#known.get(key)
    if (known === undefined) {
      this.#known.set(key, { path, ...given })
      if (this.#known.size > UPLOAD_ENTRIES_MAX)
        throw refused(`it has more than ${UPLOAD_ENTRIES_MAX} files and directories`)
      return
    }
    const isTwice = known.path !== path || known.isDirectory !== given.isDirectory || (known.isGiven && given.isGiven)
    if (isTwice)
      throw refused(`it has ${JSON.stringify(known.path)} and ${JSON.stringify(path)}: each name may be once`)
    known.isGiven ||= given.isGiven
  }
}
