/** Creates an instance's directory with its journal, complete or not at all (reliability F1). The platform calls it. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { syncDirectory } from '../files/write-whole.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { beginStory } from '../view/story.ts'
import { instancesDirectory, pathsIn } from './home.ts'
import { creationLine } from './journal-line.ts'
import { writeRecord } from './record.ts'

/** Returns once the creation is on disk (R12). Throws `disk_full`, `home_unusable`. */
export async function createInstance(home: string, creation: CreationRecord): Promise<void> {
  const instances = instancesDirectory(home)
  const draft = join(instances, `.new-${randomBytes(8).toString('hex')}`)
  try {
    const paths = pathsIn(draft)
    for (const path of [draft, paths.owners]) mkdirSync(path, { mode: 0o700 })
    failpoint('creation.drafted')
    writeFileSync(paths.journal, creationLine(creation), { mode: 0o600, flag: 'wx', flush: true })
    failpoint('creation.written')
    writeRecord(paths, beginStory(creation))
    failpoint('creation.recorded')
    renameSync(draft, join(instances, creation.instance_id))
    failpoint('creation.renamed')
    await syncDirectory(instances)
    failpoint('creation.durable')
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    const code = systemCode(error)
    if (code === 'ENOSPC' || code === 'EDQUOT') throw fail('disk_full', { path: 'the new instance' }, { cause: error })
    throw fail(
      'home_unusable',
      { path: home, reason: error instanceof Error ? error.message : String(error) },
      { cause: error },
    )
  }
}
