/**
 * How the web page is built into dist/web; scripts/build.mjs runs it. Prints the size of a first visit, and fails above the
 * limit.
 */
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build as bundle } from 'esbuild'
import { defineConfig, type Plugin } from 'vite'

const root = import.meta.dirname
const outDir = join(root, process.env['RESOLVE_BUILD_DIR'] ?? 'dist', 'web')

/** Bytes, gzipped: everything that a browser fetches for the first screen. The graph and the previews are loaded on demand. */
const FIRST_LOAD_MAX = 200_000

export default defineConfig({
  root: join(root, 'src/web'),
  publicDir: false,
  clearScreen: false,
  // Warnings about directives in packages are not caused by our code.
  logLevel: 'error',
  plugins: [viewportFrame(), boundedFirstLoad(), notedPackages()],
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    // A target that supports light-dark(), which the colours use.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // Nothing is inlined, because the page's policy allows only its own files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2_000,
  },
  worker: { format: 'es' },
})

/**
 * The document that viewports run in: one file with its program inlined, because a frame without an origin cannot fetch
 * anything.
 */
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

/** Packages that another one holds in its own bundle. */
const INLINED: Readonly<Record<string, readonly string[]>> = {
  'node_modules/react-diff-view/': ['diff-match-patch', 'gitdiff-parser', 'lodash', 'shallow-equal', 'warning'].map(
    (name) => `node_modules/${name}/`,
  ),
}

/** The packages that are bundled into the page, for the notices that scripts/build.mjs writes. */
function notedPackages(): Plugin {
  return {
    name: 'noted-packages',
    apply: 'build',
    generateBundle() {
      const packages = new Set<string>()
      for (const id of this.getModuleIds()) {
        const [, path] = /^(node_modules\/(?:@[^/]+\/)?[^/]+\/)/.exec(relative(root, id.replace(/^\0/, ''))) ?? []
        for (const one of path === undefined ? [] : [path, ...(INLINED[path] ?? [])]) packages.add(one)
      }
      this.emitFile({ type: 'asset', fileName: 'packages.json', source: JSON.stringify([...packages].sort()) })
    },
  }
}

function kb(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`
}
