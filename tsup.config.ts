/**
 * How dist/ is bundled: one entry for each program. scripts/build.mjs runs it, and also writes declarations and copies
 * manifests.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules, createRequire } from 'node:module'
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
 * Loads each module of oclif at its first use: every one requires all others at its start, and a command needs a fifth of them.
 * Turns `const help_1 = require('./help')` into a function and each use of `help_1` into its call. Nothing of oclif is left out. The
 * package `debug` prints nothing without DEBUG, and loading it takes 4 ms of each command: it is loaded where DEBUG is set.
 */
const lazyOclif: Plugin = {
  name: 'lazy-oclif',
  setup(build) {
    build.onLoad({ filter: /[\\/]@oclif[\\/]core[\\/]lib[\\/].*\.js$/ }, ({ path }) => {
      let code = readFileSync(path, 'utf8')
      for (const [line, name = '', value = ''] of code.matchAll(REQUIRED)) {
        const others = code.replace(line, '').replace(new RegExp(`(?<!\\.)\\b${name}\\b`, 'g'), `(${name}Lazy())`)
        // A function is hoisted: the order of the lines does not matter.
        code = `${others}\nvar ${name}Value; function ${name}Lazy() { return (${name}Value ??= ${value}); }\n`
      }
      return {
        contents: code.replaceAll('require("debug")', '(process.env.DEBUG ? require("debug") : () => () => {})'),
      }
    })
  },
}

const REQUIRED = /^(?:const|var) (\w+_\d+|Errors|Parser) = ((?:__import(?:Default|Star)\()?require\("[^"]+"\)\)?);$/gm

/**
 * Packages that oclif needs to search for commands and plugins, to draw spinners and to fill templates. They would be a third of the
 * code that every command reads at its start; each is a file of its own in dist/late/, which oclif loads when it first calls it.
 */
const LATE_FOR_OCLIF = ['cli-spinners', 'ejs', 'lilconfig', 'minimatch', 'tinyglobby']

const lateForOclif: Plugin = {
  name: 'late-for-oclif',
  setup(build) {
    build.onResolve({ filter: new RegExp(`^(?:${LATE_FOR_OCLIF.join('|')})$`) }, ({ path, importer }) =>
      /[\\/]@oclif[\\/]core[\\/]/.test(importer) ? { path: `../late/${path}.cjs`, external: true } : undefined,
    )
  },
}

function lateFiles(): Record<string, string> {
  const { resolve: find } = createRequire(resolve('node_modules/@oclif/core/package.json'))
  return Object.fromEntries(LATE_FOR_OCLIF.map((name) => [`late/${name}`, find(name)]))
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

/**
 * The SDK loads a module of Node when it first uses it. An import statement reads every export, and so an import of `fs` also loads
 * `fs/promises` and streams; `crypto` is twenty modules. Each start of a resolver paid for them, whether it used them or not.
 */
const lazyNode: Plugin = {
  name: 'lazy-node',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, importer }) =>
      // LLM sessions are loaded late and whole, with packages that use classes and default exports of Node.
      /[\\/](?:node_modules|src[\\/]sessions)[\\/]/.test(importer)
        ? { path, external: true }
        : { path, namespace: 'lazy-node', sideEffects: false },
    )
    // A package written for CommonJS has no `require` in a module.
    build.onResolve({ filter: BUILTIN }, ({ path, kind }) =>
      kind === 'require-call' ? { path, namespace: 'required-node' } : undefined,
    )
    build.onLoad({ filter: /.*/, namespace: 'required-node' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
    }))
    build.onLoad({ filter: /.*/, namespace: 'lazy-node' }, ({ path }) => {
      const load = `process.getBuiltinModule('${path}')`
      const lines = Object.entries(process.getBuiltinModule(path) as object).map(([name, value]) =>
        typeof value === 'function' && /^[a-z]/.test(name)
          ? `export const ${name} = (...args) => ${load}.${name}(...args)`
          : `export const ${name} = /* @__PURE__ */ (() => ${load}.${name})()`,
      )
      return { contents: lines.join('\n') }
    })
  },
}

const BUILTIN = new RegExp(`^(?:node:)?(?:${builtinModules.filter((name) => !name.startsWith('_')).join('|')})$`)

/** A built-in resolver finds the SDK as every resolver does, by its name: `sdk/register` knows where it is, also in a container. */
const sdkByName: Plugin = {
  name: 'sdk-by-name',
  setup(build) {
    build.onResolve({ filter: /[\\/]sdk[\\/]index\.ts$/ }, () => ({ path: 'resolve-platform/sdk', external: true }))
  },
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
    esbuildPlugins: [inPieces(PROGRAMS), withoutDevtools, lazyOclif, lateForOclif, withoutRemoteEngines],
    banner: { js: requireBanner },
    env: { NODE_ENV: 'production' },
    entry: PROGRAMS,
  },
  { ...shared, format: 'cjs', splitting: false, entry: lateFiles() },
  {
    // One file without parts: a container mounts it alone.
    ...shared,
    splitting: false,
    entry: entries({ 'git-server': 'src/git-server/main.ts' }),
  },
  {
    // As the git server: observes software in a container. scripts/build.mjs puts Playwright beside it.
    ...shared,
    splitting: false,
    entry: entries({ 'validator/main': 'src/validator/main.ts' }),
  },
  {
    // As the git server: reads a workspace in a container.
    ...shared,
    splitting: false,
    banner: { js: requireBanner },
    entry: entries({
      'read-tree': 'src/core/changes/read-tree-main.ts',
      'bundles/survey-worker': 'src/core/bundles/fetch/survey-worker.ts',
    }),
  },
  {
    // A separate build: an author's resolver loads only the SDK.
    ...shared,
    // It would mark them as external before the plugin sees them.
    removeNodeProtocol: false,
    esbuildPlugins: [lazyNode],
    entry: entries({
      'sdk/index': 'src/sdk/index.ts',
      'sdk/register': 'src/sdk/register.ts',
      'sdk/session-helper': 'src/sdk/helper/main.ts',
      'sdk/markdown-worker': 'src/sessions/web/markdown-worker.ts',
    }),
  },
  {
    // One file each, without parts: a container mounts the folder of a resolver alone.
    ...shared,
    splitting: false,
    removeNodeProtocol: false,
    esbuildPlugins: [sdkByName, lazyNode],
    entry: entries(resolvers()),
  },
]

export default defineConfig(programs.filter((program) => Object.keys(program.entry ?? {}).length > 0))
