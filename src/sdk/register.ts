/**
 * Loaded with `node --import` before a resolver's own code, in every node process of a worker: makes `resolve-platform/sdk`
 * importable from any folder. In the process that the host started (RESOLVE_CHANNEL is set) it also keeps stdout for the channel, and
 * turns on Node's compile cache: without it each start of a `.ts` resolver loads the type stripper and compiles everything anew.
 * Node processes below it, under a shell or another node, keep an ordinary stdout and no cache.
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
// What the resolver starts is not the resolver: it must not fill the cache.
delete process.env['RESOLVE_COMPILE_CACHE']

if (process.env['RESOLVE_CHANNEL'] && !process.env['RESOLVE_STDOUT'] && leadsItsGroup()) {
  process.env['RESOLVE_STDOUT'] = String(process.pid)
  captureStdout()
  // Node compares the source with what was compiled. A directory that cannot be written costs the cache and nothing else.
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
