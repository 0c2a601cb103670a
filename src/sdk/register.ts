/**
 * Loaded with `node --import` before a resolver's own code, in every node process of a worker: makes
 * `resolve-platform/sdk` importable from any folder, and keeps stdout for the channel in the process that the host
 * started (it sets RESOLVE_CHANNEL). Node processes below it, under a shell or another node, keep an ordinary stdout.
 */
import { registerHooks } from 'node:module'
import { captureStdout } from './capture.ts'

const SDK = new URL('./index.js', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'resolve-platform/sdk') return next(specifier, context)
    return { url: SDK, format: 'module', shortCircuit: true }
  },
})

if (process.env['RESOLVE_CHANNEL'] && !process.env['RESOLVE_STDOUT'] && leadsItsGroup()) {
  process.env['RESOLVE_STDOUT'] = String(process.pid)
  captureStdout()
}

/** A host starts its worker as the leader of a process group; what a shell starts is no leader: `x=$(node -p 1)`. */
function leadsItsGroup(): boolean {
  try {
    return process.kill(-process.pid, 0)
  } catch {
    return false
  }
}
