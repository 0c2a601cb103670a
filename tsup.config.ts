/**
 * How dist/ is bundled: one entry for each program. scripts/build.mjs runs it, and also writes declarations and copies
 * manifests.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { defineConfig, type Options } from 'tsup'

const outDir = process.env['RESOLVE_BUILD_DIR'] ?? 'dist'

/** Entry names (paths in dist without extension) and their sources; a missing source is left out. */
function entries(wanted: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).filter(([, source]) => existsSync(source)))
}

function resolvers(): Record<string, string> {
  const names = readdirSync('src/resolvers')
  return Object.fromEntries(names.map((name) => [`resolvers/${name}/resolver`, `src/resolvers/${name}/resolver.ts`]))
}

/** Ink imports its developer tools only where DEV is set; they are not bundled. */
const withoutDevtools: Plugin = {
  name: 'without-devtools',
  setup(build) {
    build.onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'without-devtools' }))
    build.onLoad({ filter: /.*/, namespace: 'without-devtools' }, () => ({ contents: 'export default {}' }))
  },
}

/**
 * Parts that oclif's parser, flags and args import but never call here: its help classes, its process exit, its spinner, its
 * debug log, and reading arguments from stdin. A stub throws if one is called. The help entry bundles oclif whole.
 */
const LEFT_OUT_OF_OCLIF: Readonly<Record<string, RegExp>> = {
  './help': /[\\/](?:flags|parser[\\/]index)\.js$/,
  './handle': /[\\/]errors[\\/]index\.js$/,
  'wrap-ansi': /[\\/]errors[\\/]/,
  'node:readline': /[\\/]parser[\\/]parse\.js$/,
  debug: /[\\/]logger\.js$/,
  // oclif needs these only to search for commands, plugins and their configuration. The catalog bundles its own `semver`.
  lilconfig: /./,
  tinyglobby: /./,
  minimatch: /./,
  semver: /./,
}

const withoutTheRestOfOclif: Plugin = {
  name: 'without-the-rest-of-oclif',
  setup(build) {
    build.onResolve(
      { filter: /^(?:\.\/help|\.\/handle|wrap-ansi|node:readline|debug|lilconfig|tinyglobby|minimatch|semver)$/ },
      (asked) => {
        const isLeftOut =
          /[\\/]@oclif[\\/]core[\\/]/.test(asked.importer) && LEFT_OUT_OF_OCLIF[asked.path]?.test(asked.importer)
        return isLeftOut ? { path: asked.path, namespace: 'left-out-of-oclif' } : undefined
      },
    )
    build.onLoad({ filter: /.*/, namespace: 'left-out-of-oclif' }, ({ path }) => ({
      contents:
        path === 'debug'
          ? 'const deaf = () => {}; module.exports = () => deaf; module.exports.enabled = () => false'
          : `const leftOut = () => { throw new Error('${path} is left out of this build: see tsup.config.ts.') }
             module.exports = new Proxy(leftOut, { get: (_, name) => (name === '__esModule' ? false : leftOut) })`,
    }))
  },
}

/**
 * dockerode needs these only for an engine over ssh, for BuildKit, and for building from a folder. None of this is used:
 * engines are reached by unix socket, and builds are sent as a tar. A stub throws if one is called.
 */
const withoutRemoteEngines: Plugin = {
  name: 'without-remote-engines',
  setup(build) {
    const filter = /^(?:ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs|tar-fs|@balena\/dockerignore)$/
    build.onResolve({ filter }, ({ path }) => ({ path, namespace: 'without-remote-engines' }))
    build.onLoad({ filter: /.*/, namespace: 'without-remote-engines' }, ({ path }) => ({
      contents: `const leftOut = () => { throw new Error('${path} is left out of this build: see tsup.config.ts.') }
        module.exports = { Client: leftOut, loadSync: leftOut, pack: leftOut, load: leftOut }`,
    }))
  },
}

/**
 * Modules that nearly every command loads, in two files: esbuild would make one file for each set of entries that share a
 * module, and sixty small files take longer to load than two. Each platform entry therefore shares the first file, and each
 * entry of the command line the second.
 */
const PIECES: Readonly<Record<string, { of: RegExp; modules: readonly string[] }>> = {
  'piece:core': { of: /[\\/]src[\\/]/, modules: ['src/core/index.ts'] },
  'piece:terminal': {
    of: /[\\/]src[\\/](?:commands|terminal)[\\/]/,
    modules: [
      'src/commands/main.ts',
      'src/terminal/command/base-command.ts',
      'src/terminal/command/flags.ts',
      'src/terminal/pages/instance-table.ts',
      'src/terminal/command/poll-until-signal.ts',
      'src/terminal/follow/session.ts',
      'src/terminal/input/gather-input.ts',
    ],
  },
}

/** Every source that a program starts with, or loads late. */
function beginnings(programs: readonly string[]): Set<string> {
  const found = new Set(programs.map((source) => resolve(source)))
  for (const name of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(name) || name.startsWith('web')) continue
    const path = resolve('src', name)
    for (const [, late = ''] of readFileSync(path, 'utf8').matchAll(/\bimport\('(\.[^']+)'\)/g)) {
      found.add(resolve(dirname(path), late))
    }
  }
  return found
}

function inPieces(programs: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'in-pieces',
    setup(build) {
      const begin = beginnings(Object.values(programs))
      build.onResolve({ filter: /^piece:/ }, ({ path }) => ({ path, namespace: 'piece' }))
      build.onLoad({ filter: /.*/, namespace: 'piece' }, ({ path }) => ({
        contents: PIECES[path]?.modules.map((module) => `import './${module}'`).join(';') ?? '',
        resolveDir: process.cwd(),
      }))
      build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, ({ path }) => {
        const pieces = begin.has(path) ? Object.keys(PIECES).filter((name) => PIECES[name]?.of.test(path)) : []
        if (pieces.length === 0) return undefined
        const imports = pieces.map((name) => `import '${name}';`).join('')
        return { contents: imports + readFileSync(path, 'utf8'), loader: path.endsWith('x') ? 'tsx' : 'ts' }
      })
    },
  }
}

/** Packages written for CommonJS load Node's modules with `require`. */
const requireBanner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/** Packages under devDependencies are bundled where they are used; `dependencies` stay external. */
const shared: Options = {
  outDir,
  format: 'esm',
  target: 'node24',
  platform: 'node',
  splitting: true,
  clean: false,
  dts: false,
  silent: true,
  config: false,
  esbuildOptions(options) {
    // Code that several programs share, and code that one loads only on demand.
    options.chunkNames = 'parts/[name]-[hash]'
  },
}

const PROGRAMS = entries({
  'cli/main': 'src/commands/main.ts',
  'core/index': 'src/core/index.ts',
  host: 'src/server/host-program.ts',
})

const programs: Options[] = [
  {
    ...shared,
    esbuildPlugins: [inPieces(PROGRAMS), withoutDevtools, withoutTheRestOfOclif, withoutRemoteEngines],
    banner: { js: requireBanner },
    env: { NODE_ENV: 'production' },
    entry: PROGRAMS,
  },
  {
    // A separate build: an author's resolver loads only the SDK.
    ...shared,
    entry: entries({ 'sdk/index': 'src/sdk/index.ts', 'sdk/register': 'src/sdk/register.ts', ...resolvers() }),
  },
]

export default defineConfig(programs.filter((program) => Object.keys(program.entry ?? {}).length > 0))
