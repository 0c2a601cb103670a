/** How dist/ is bundled: one entry per program. Run by scripts/build.mjs, which also writes declarations and copies manifests. */
import { existsSync, readdirSync } from 'node:fs'
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
 * What oclif's core asks for only where it searches commands, plugins and their configuration, which src/commands/index.ts does
 * instead. Whoever comes to call one after all is told. The catalog has its own `semver`, which stays.
 */
const withoutDiscovery: Plugin = {
  name: 'without-discovery',
  setup(build) {
    build.onResolve({ filter: /^(?:lilconfig|tinyglobby|minimatch|semver)$/ }, ({ path, importer }) =>
      /[\\/]@oclif[\\/]core[\\/]/.test(importer) ? { path, namespace: 'without-discovery' } : undefined,
    )
    build.onLoad({ filter: /.*/, namespace: 'without-discovery' }, ({ path }) => ({
      contents: `const leftOut = () => { throw new Error('${path} is left out of this build: see tsup.config.ts.') }
        module.exports = { lilconfig: leftOut, glob: leftOut, minimatch: leftOut, satisfies: leftOut }`,
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

const programs: Options[] = [
  {
    ...shared,
    esbuildPlugins: [withoutDevtools, withoutDiscovery, withoutRemoteEngines],
    banner: { js: requireBanner },
    env: { NODE_ENV: 'production' },
    entry: entries({
      'cli/main': 'src/commands/main.ts',
      'core/index': 'src/core/index.ts',
      host: 'src/server/host-program.ts',
    }),
  },
  {
    // On its own: an author's resolver loads nothing of the platform beside the SDK.
    ...shared,
    entry: entries({ 'sdk/index': 'src/sdk/index.ts', 'sdk/register': 'src/sdk/register.ts', ...resolvers() }),
  },
]

export default defineConfig(programs.filter((program) => Object.keys(program.entry ?? {}).length > 0))
