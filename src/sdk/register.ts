/**
 * Loaded with `node --import` before a resolver's own code, in every Node process of a worker. Makes `resolve-platform/sdk`
 * importable from any folder. In the process that the host started (RESOLVE_CHANNEL is set), it reserves stdout for the
 * channel; child processes of Node, under a shell or another Node, keep an ordinary stdout.
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

/** The host starts its worker as the leader of a process group; a process that a shell starts is not one: `x=$(node -p 1)`. */
function leadsItsGroup(): boolean {
  try {
    return process.kill(-process.pid, 0)
  } catch {
    return false
  }
}
