/** A process of its own that prints one JSON line at its start and after each change of the catalog: <home> <builtins>. */
import { openCatalog } from '../../src/core/catalog/catalog.ts'

const [home = '', builtins = ''] = process.argv.slice(2)
const catalog = await openCatalog({ home, builtins })
const tell = () => {
  const versions = Object.fromEntries(catalog.list().map((entry) => [entry.name, entry.version]))
  console.log(JSON.stringify({ versions, problem: catalog.problem()?.code ?? null }))
}
catalog.watch(tell)
tell()
process.stdin.resume().on('end', () => process.exit(0))
