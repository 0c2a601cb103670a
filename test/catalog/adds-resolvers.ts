/** A process of its own that adds every source it is given to one catalog: <home> <builtins> <source>… */
import { openCatalog } from '../../src/core/catalog/catalog.ts'

const [home = '', builtins = '', ...sources] = process.argv.slice(2)
const catalog = await openCatalog({ home, builtins })
for (const source of sources) await catalog.add(source, { cwd: '/' })
await catalog.close()
