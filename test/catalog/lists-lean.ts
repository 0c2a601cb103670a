/** A process of its own that opens and lists a catalog and prints which heavy packages that loaded: <home> <builtins>. */
import { registerHooks } from 'node:module'

const heavy: string[] = []
registerHooks({
  resolve(specifier, context, next) {
    if (/^(ajv|semver|execa|chokidar)\b/.test(specifier)) heavy.push(specifier)
    return next(specifier, context)
  },
})
const { openCatalog } = await import('../../src/core/catalog/catalog.ts')
const [home = '', builtins = ''] = process.argv.slice(2)
const catalog = await openCatalog({ home, builtins })
console.log(JSON.stringify({ heavy, names: catalog.list().map((entry) => entry.name) }))
