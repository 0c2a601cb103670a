/**
 * Loaded with `node --import` before a resolver's own code, in every Node process of a worker. Makes `resolve-platform/sdk`
 * and the resolver `pipeline` importable from any folder. In the process that the host started (RESOLVE_CHANNEL is set), it also reserves stdout for the
 * channel and turns on Node's compile cache, because otherwise each start of a `.ts` resolver loads the type stripper and
 * compiles everything again. Other Node processes of the worker keep an ordinary stdout and have no cache.
 */
import { enableCompileCache, registerHooks } from 'node:module'
import { captureStdout } from './capture.ts'

const NAMED: Readonly<Record<string, string>> = {
  'resolve-platform/sdk': new URL('./index.js', import.meta.url).href,
  // The program of a pipeline that is a resolver of its own (docs/pipelines.md, A pipeline as a resolver).
  'resolve-platform/pipeline': new URL('../resolvers/pipeline/resolver.js', import.meta.url).href,
}

registerHooks({
  resolve(specifier, context, next) {
    const url = Object.hasOwn(NAMED, specifier) ? NAMED[specifier] : undefined
    return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
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
