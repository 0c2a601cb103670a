/**
 * Loaded with `node --import` before a resolver's own code, in every node process of a worker: makes
 * `resolve-platform/sdk` importable from any folder, and keeps stdout of the first node process for the channel.
 * The host sets RESOLVE_CHANNEL where stdout is the channel; node processes below the first keep an ordinary stdout.
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

if (process.env['RESOLVE_CHANNEL'] && !process.env['RESOLVE_STDOUT']) {
  process.env['RESOLVE_STDOUT'] = String(process.pid)
  captureStdout()
}
