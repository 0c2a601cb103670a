/**
 * The checks of {@link file://./health.ts} for the catalog: whether it is readable, and whether each resolver's files are
 * there.
 */
import { join } from 'node:path'
import { CATALOG_FILE, openCatalog } from '../../catalog/catalog.ts'
import { readManifestFile } from '../../catalog/manifest/read-manifest.ts'
import { ResolveError } from '../../errors.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import { type CatalogEntry, isUpload } from '../../protocol/catalog.ts'
import type { HealthRow } from '../platform.ts'

export async function checkCatalog({ home, builtins }: { home: string; builtins: string }): Promise<HealthRow[]> {
  const file = join(home, CATALOG_FILE)
  const broken = (message: string): HealthRow => {
    return { check: 'catalog', state: 'failed', message, mend: `mv ${quoteWord(file)} ${quoteWord(`${file}.broken`)}` }
  }
  try {
    const catalog = await openCatalog({ home, builtins })
    try {
      await catalog.refresh()
      const problem = catalog.problem()
      const entries = catalog.list()
      const readable: HealthRow =
        problem === null
          ? { check: 'catalog', state: 'ok', message: `The catalog has ${entries.length} resolvers`, mend: null }
          : broken(problem.message)
      const faults = (await Promise.all(entries.map(checkResolver))).filter((row) => row !== undefined)
      return [readable, ...(faults.length > 0 ? faults : [OK])]
    } finally {
      await catalog.close()
    }
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error
    return [broken(error.message)]
  }
}

const OK: HealthRow = {
  check: 'resolver',
  state: 'ok',
  message: 'Each resolver has its files and its manifest',
  mend: null,
}

async function checkResolver({ name, dir, kind, source }: CatalogEntry): Promise<HealthRow | undefined> {
  try {
    // A pipeline may lie beside others: its source names its own file.
    await readManifestFile(kind === 'directory' && source !== '' && !isUpload({ source }) ? source : dir)
    return undefined
  } catch (error) {
    const reason = error instanceof ResolveError ? (error.errors[0] ?? error.message) : String(error)
    const mend = {
      builtin: 'npm install -g resolve-platform',
      // A missing folder of a user can only be restored by that user; until then the resolver cannot be used.
      directory: `resolve resolver remove ${name}`,
      git: `resolve resolver add ${quoteWord(source)} --force`,
    }[kind]
    return { check: 'resolver', state: 'failed', message: `${name}: ${reason}`, mend }
  }
}
