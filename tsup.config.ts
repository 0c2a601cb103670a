/** How dist/ is bundled: one entry per program. Run by scripts/build.mjs, which also writes declarations and copies manifests. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { defineConfig, type Options } from 'tsup'

const outDir = process.env['RESOLVE_BUILD_DIR'] ?? 'dist'

/** Entry names (paths in dist without extension) and their sources; what does not exist is left out. */
function entries(wanted: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).filter(([, source]) => existsSync(source)))
}

function resolvers(): Record<string, string> {
  const names = readdirSync('src/resolvers')
  return Object.fromEntries(names.map((name) => [`resolvers/${name}/resolver`, `src/resolvers/${name}/resolver.ts`]))
}

/** Ink names its developer tools only where DEV is set; they are no part of the program. */
const withoutDevtools: Plugin = {
  name: 'without-devtools',
  setup(build) {
    build.onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'without-devtools' }))
    build.onLoad({ filter: /.*/, namespace: 'without-devtools' }, () => ({ contents: 'export default {}' }))
  },
}

/**
 * What oclif's parser, flags and args ask for without our ever calling it: the classes of its help, its way to end a process, its
 * spinner, its debug log, and reading words from stdin. The first time one is called it says so. Help has the whole of oclif.
 */
const LEFT_OUT_OF_OCLIF: Readonly<Record<string, RegExp>> = {
  './help': /[\\/](?:flags|parser[\\/]index)\.js$/,
  './handle': /[\\/]errors[\\/]index\.js$/,
  'wrap-ansi': /[\\/]errors[\\/]/,
  'node:readline': /[\\/]parser[\\/]parse\.js$/,
  debug: /[\\/]logger\.js$/,
  // Only for searching commands, plugins and their configuration. The catalog has its own `semver`, which stays.
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
 * What dockerode asks for only to reach an engine over ssh, and to build with BuildKit or from a folder: none is done here
 * (an engine is reached by its unix socket, and what is built comes as a tar of ours). Whoever comes to call one after all is told.
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
 * What nearly every command loads, in two pieces: esbuild makes a file of its own for every set of entries that share a module, and
 * sixty small files take longer to find and to read than the two they make together. So each entry of the platform is made to share
 * the first piece, and each of the command line the second.
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

/** Every source that a program begins with, or loads late. */
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

/** Packages written for CommonJS ask for Node's own modules by `require`. */
const requireBanner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/** What package.json lists under devDependencies is bundled where it is used; `dependencies` stay outside. */
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
    // What several programs share, and what one loads only when it needs it.
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
    // On its own: an author's resolver loads nothing of the platform beside the SDK.
    ...shared,
    entry: entries({ 'sdk/index': 'src/sdk/index.ts', 'sdk/register': 'src/sdk/register.ts', ...resolvers() }),
  },
]

export default defineConfig(programs.filter((program) => Object.keys(program.entry ?? {}).length > 0))
