/** Creates an instance's directory with its journal, complete or not at all (reliability F1). The platform calls it. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { syncDirectoryTogether } from '../files/sync-together.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { SEALED_TEXTS_FILE } from '../secrets/sealed-instances.ts'
import { beginStory } from '../view/story.ts'
import { type InstancePaths, instancesDirectory, pathsIn } from './home.ts'
import { creationLine, formatPrivateLine } from './journal-line.ts'
import { writeRecord } from './record.ts'

export interface SealedCreation {
  /** The values of secret fields, or an input that is not checked yet. */
  input: string
  /** The content of the list of secret texts. */
  texts: string
}

/**
 * Returns once the creation is on disk (R12): its journal is synced, and then, together with those of other creations, the name of its
 * directory. `prepare` makes what else belongs into the directory meanwhile; what it fails at is left to the launch.
 * `sealed`: what of the input is sealed, for a private line behind the creation record and the list of secret texts.
 * Throws `disk_full`, `home_unusable`.
 */
export async function createInstance(
  home: string,
  creation: CreationRecord,
  prepare: (paths: InstancePaths) => Promise<void> = async () => {},
  sealed?: SealedCreation,
): Promise<void> {
  const instances = instancesDirectory(home)
  const draft = join(instances, `.new-${randomBytes(8).toString('hex')}`)
  let prepared: Promise<void> = Promise.resolve()
  try {
    const paths = pathsIn(draft)
    for (const path of [draft, paths.owners]) mkdirSync(path, { mode: 0o700 })
    failpoint('creation.drafted')
    prepared = prepare(paths).catch(() => {})
    const kind = creation.unchecked === true ? 'unchecked_input' : 'sealed_input'
    const lines = sealed === undefined ? '' : formatPrivateLine({ kind, sealed: sealed.input })
    // From here on the key of the home is not replaced, and readers know what to redact before a host does.
    if (sealed !== undefined) await writeFile(join(draft, SEALED_TEXTS_FILE), sealed.texts, { mode: 0o600, flag: 'wx' })
    await writeFile(paths.journal, creationLine(creation) + lines, { mode: 0o600, flag: 'wx', flush: true })
    failpoint('creation.written')
    writeRecord(paths, beginStory(creation))
    failpoint('creation.recorded')
    await prepared
    renameSync(draft, join(instances, creation.instance_id))
    failpoint('creation.renamed')
    await syncDirectoryTogether(instances)
    failpoint('creation.durable')
  } catch (error) {
    await prepared
    rmSync(draft, { recursive: true, force: true })
    const code = systemCode(error)
    // Another server of this home was faster with the same idempotency key, which chose the id: that one is the instance (R11).
    const isTaken = code === 'ENOTEMPTY' || code === 'EEXIST'
    if (isTaken && existsSync(join(instances, creation.instance_id, 'journal'))) {
      await syncDirectoryTogether(instances)
      return
    }
    if (code === 'ENOSPC' || code === 'EDQUOT') throw fail('disk_full', { path: 'the new instance' }, { cause: error })
    throw fail(
      'home_unusable',
      { path: home, reason: error instanceof Error ? error.message : String(error) },
      { cause: error },
    )
  }
}
