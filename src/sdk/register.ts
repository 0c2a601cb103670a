/**
 * Loaded with `node --import` before a resolver's own code, in every Node process of a worker. Makes `resolve-platform/sdk`
 * importable from any folder. In the process that the host started (RESOLVE_CHANNEL is set), it also reserves stdout for the
 * channel and turns on Node's compile cache, because otherwise each start of a `.ts` resolver loads the type stripper and
 * compiles everything again. Other Node processes of the worker keep an ordinary stdout and have no cache.
 */
import { enableCompileCache, registerHooks } from 'node:module'
import { captureStdout } from './capture.ts'

const SDK = new URL('./index.js', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'resolve-platform/sdk') return next(specifier, context)
    return { url: SDK, format: 'module', shortCircuit: true }
  },
})

const compileCache = process.env['RESOLVE_COMPILE_CACHE']
// Processes that the resolver starts must not fill its cache.
delete process.env['RESOLVE_COMPILE_CACHE']

if (process.env['RESOLVE_CHANNEL'] && !process.env['RESOLVE_STDOUT'] && leadsItsGroup()) {
  process.env['RESOLVE_STDOUT'] = String(process.pid)
  captureStdout()
  // Node compares the source with the cached code. If the directory is not writable, only the cache is missing.
  if (compileCache !== undefined) enableCompileCache(compileCache)
}

/** The host starts its worker as the leader of a process group; a process that a shell starts is not one: `x=$(node -p 1)`. */
function leadsItsGroup(): boolean {
  try {
    return process.kill(-process.pid, 0)
  } catch {
    return false
  }
}
