#!/usr/bin/env node
/**
 * The program `resolve`, run from source: Node strips the types of .ts files, and esbuild compiles .tsx files. Needs Node 24
 * first in PATH. Runs {@link file://./../src/commands/main.ts}
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'

registerHooks({
  load(url, context, nextLoad) {
    if (!url.endsWith('.tsx')) return nextLoad(url, context)
    const path = fileURLToPath(url)
    const { code } = transformSync(readFileSync(path, 'utf8'), {
      loader: 'tsx',
      format: 'esm',
      jsx: 'automatic',
      target: 'node24',
      sourcemap: 'inline',
      sourcefile: path,
    })
    return { format: 'module', source: code, shortCircuit: true }
  },
})

const { main } = await import('../src/commands/main.ts')
await main(process.argv.slice(2), dirname(dirname(fileURLToPath(import.meta.url))))
