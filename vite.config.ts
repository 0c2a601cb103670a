/** How the web page is built into dist/web: scripts/build.mjs runs it. It prints what a first visit loads, and refuses to grow beyond the limit. */
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build as bundle } from 'esbuild'
import { defineConfig, type Plugin } from 'vite'

const root = import.meta.dirname
const outDir = join(root, process.env['RESOLVE_BUILD_DIR'] ?? 'dist', 'web')

/** Bytes, gzipped: what a browser has fetched when the first screen is there. The graph and the previews come when they are wanted. */
const FIRST_LOAD_MAX = 300_000

export default defineConfig({
  root: join(root, 'src/web'),
  publicDir: false,
  clearScreen: false,
  // Warnings of packages about their own directives are none of ours.
  logLevel: 'error',
  plugins: [viewportFrame(), boundedFirstLoad(), notedPackages()],
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    // Knows light-dark(), which the colours are written with.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // Nothing is inlined: the page's policy allows files of its own only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2_000,
  },
  worker: { format: 'es' },
})

/** The document that viewports run in: one file, its program inside, so that a frame without an origin has nothing to fetch. */
function viewportFrame(): Plugin {
  return {
    name: 'viewport-frame',
    apply: 'build',
    async generateBundle() {
      const entryPoints = [join(root, 'src/web/viewport/frame.ts')]
      const made = await bundle({
        entryPoints,
        bundle: true,
        write: false,
        format: 'iife',
        minify: true,
        target: 'es2023',
      })
      const program = (made.outputFiles[0]?.text ?? '').trim().replaceAll('</', '<\\/')
      const source = [
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Viewport</title>',
        '<style>html,body{margin:0;font:14px/1.5 system-ui,sans-serif}#view{min-height:100vh;box-sizing:border-box}</style>',
        `<div id="view"></div><script>${program}</script></html>`,
      ].join('\n')
      this.emitFile({ type: 'asset', fileName: 'viewport.html', source })
    },
  }
}

function boundedFirstLoad(): Plugin {
  return {
    name: 'bounded-first-load',
    apply: 'build',
    generateBundle: {
      order: 'post',
      handler(_options, files) {
        const wanted = new Set<string>(['index.html'])
        const take = (name: string): void => {
          const file = files[name]
          if (wanted.has(name) || file?.type !== 'chunk') return
          wanted.add(name)
          for (const style of file.viteMetadata?.importedCss ?? []) wanted.add(style)
          for (const other of file.imports) take(other)
        }
        for (const file of Object.values(files)) if (file.type === 'chunk' && file.isEntry) take(file.fileName)
        const size = (name: string) => {
          const file = files[name]
          return file === undefined ? 0 : gzipSync(file.type === 'chunk' ? file.code : file.source).length
        }
        const bytes = [...wanted].reduce((sum, name) => sum + size(name), 0)
        const told = `The page's first load is ${kb(bytes)} gzipped, of ${kb(FIRST_LOAD_MAX)} at most.`
        if (bytes > FIRST_LOAD_MAX) this.error(told)
        process.stderr.write(`${told}\n`)
      },
    },
  }
}

/** The packages whose code is in the page, for the notices that scripts/build.mjs writes. */
function notedPackages(): Plugin {
  return {
    name: 'noted-packages',
    apply: 'build',
    generateBundle() {
      const packages = new Set<string>()
      for (const id of this.getModuleIds()) {
        const [, path] = /^(node_modules\/(?:@[^/]+\/)?[^/]+\/)/.exec(relative(root, id.replace(/^\0/, ''))) ?? []
        if (path !== undefined) packages.add(path)
      }
      this.emitFile({ type: 'asset', fileName: 'packages.json', source: JSON.stringify([...packages].sort()) })
    },
  }
}

function kb(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`
}
