/** How Node software is built and started: its scripts, the server of its framework, its main file, or its built pages. */
import { CHECK_CODE_FILE_MAX_BYTES } from '../../limits.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import type { Found } from './found.ts'
import type { Manager } from './node-manager.ts'
import { portIn, portInCode } from './ports.ts'
import { serveFiles } from './static.ts'
import { type TreeReader, table, text } from './tree-reader.ts'

export type NodeStart = Pick<Found, 'start' | 'build' | 'port' | 'because'> & { hasPages: boolean }

interface Project {
  tree: TreeReader
  manager: Manager
  scripts: Record<string, unknown>
  dependencies: Set<string>
  main: string | undefined
}

interface Framework {
  name: string
  port: number
  /** Run by npx, which finds the program that was installed. */
  server?: string
  /** Where the built pages are, for the server of static files. */
  pages?: string
  build?: string
}

const DEVELOPS =
  /\b(?:nodemon|ts-node-dev|tsnd|next dev|nuxi? dev|nuxt(?!\s+(?:start|preview|build))|react-scripts start|craco start|webpack(?:-dev-server| serve)|ng serve|vue-cli-service serve|parcel(?! build)|astro dev|remix (?:vite:)?dev|react-router dev|svelte-kit dev|gatsby develop|snowpack dev|rsbuild dev|rspack (?:dev|serve)|vitepress dev|docusaurus start|eleventy --serve|expo start|vite(?! (?:preview|build))(?!-node)|--watch)(?![\w-])/
const SERVES = [
  'express',
  'koa',
  'fastify',
  '@hapi/hapi',
  'hono',
  '@hono/node-server',
  'restify',
  'polka',
  'ws',
  'socket.io',
  'h3',
  'micro',
  'connect',
  'json-server',
]
const MAINS = [
  'server.js',
  'index.js',
  'app.js',
  'main.js',
  'server.mjs',
  'index.mjs',
  'app.mjs',
  'server.cjs',
  'src/server.js',
  'src/index.js',
  'src/app.js',
  'src/main.js',
  'server/index.js',
  'server.ts',
  'index.ts',
  'src/server.ts',
  'src/index.ts',
  'src/app.ts',
  'src/main.ts',
]
const LISTENS = /\.listen\(|createServer\(|\bserve\(|Deno\.serve|Bun\.serve/

/** undefined: nothing of it can be started. */
export async function nodeStart(project: Project): Promise<NodeStart | undefined> {
  const { manager, scripts } = project
  const framework = await frameworkOf(project)
  const built = text(scripts['build']) === undefined ? null : manager.run('build')
  const build = built ?? (framework?.build === undefined ? null : `npx --no-install ${framework.build}`)
  const known = { build, hasPages: framework !== undefined && framework.name !== 'nest' }
  const script = startScript(scripts, framework)
  if (script !== undefined && !DEVELOPS.test(script.command)) {
    const preview = /\bvite preview\b/.test(script.command) ? 4173 : undefined
    const port =
      portIn(script.command) ?? preview ?? framework?.port ?? (await portOfScript(project.tree, script.command))
    return { ...known, start: manager.run(script.name), port, because: [`package.json scripts.${script.name}`] }
  }
  if (framework !== undefined) {
    const { server, pages, port, name } = framework
    if (server !== undefined) return { ...known, start: server, port, because: [`package.json ${name}`] }
    if (pages !== undefined && build !== null)
      return {
        ...known,
        start: serveFiles(pages),
        port: 8080,
        because: [`package.json ${name}`, 'package.json scripts.build'],
      }
  }
  const file = await mainFile(project, script?.command)
  if (file !== undefined) return { ...known, ...file }
  const last = script ?? ['dev', 'develop'].flatMap((name) => named(scripts, name) ?? [])[0]
  if (last === undefined) return undefined
  const port = portIn(last.command) ?? framework?.port ?? 3000
  return { ...known, start: manager.run(last.name), port, because: [`package.json scripts.${last.name}`] }
}

interface Script {
  name: string
  command: string
}

function named(scripts: Record<string, unknown>, name: string): Script | undefined {
  const command = text(scripts[name])
  return command === undefined ? undefined : { name, command }
}

/** `start`, unless that is a server for development and another script is one for production. */
function startScript(scripts: Record<string, unknown>, framework: Framework | undefined): Script | undefined {
  const production = ['start:prod', 'start:production', 'serve:prod', 'prod', 'production'].flatMap(
    (name) => named(scripts, name) ?? [],
  )[0]
  const start = named(scripts, 'start')
  if (framework?.name === 'nest') return production ?? start
  if (start !== undefined && !DEVELOPS.test(start.command)) return start
  const others = ['serve', 'preview'].flatMap((name) => named(scripts, name) ?? [])
  return production ?? others.find(({ command }) => !DEVELOPS.test(command)) ?? start
}

async function portOfScript(tree: TreeReader, command: string): Promise<number> {
  const path = /\bnode\s+(?:--?[\w=.-]+\s+)*(?:\.\/)?([\w./-]+)/.exec(command)?.[1]
  const file = path === undefined ? undefined : await tree.firstOf([path, `${path}.js`, `${path}/index.js`])
  return file === undefined ? 3000 : portOfFile(await tree.text(file, CHECK_CODE_FILE_MAX_BYTES))
}

const portOfFile = (code: string) => (/env\.PORT\b|env\[['"]PORT/.test(code) ? 3000 : (portInCode(code) ?? 3000))

async function mainFile({ tree, main, dependencies }: Project, script?: string) {
  const watched = /\bnodemon\s+(?:-\S+\s+)*(?:\.\/)?([\w./-]+\.[cm]?[jt]s)\b/.exec(script ?? '')?.[1]
  const serves = SERVES.some((name) => dependencies.has(name))
  const candidates = [watched, main?.replace(/^\.\//, ''), ...MAINS].filter((path) => path !== undefined)
  for (const path of candidates) {
    if (!(await tree.has(path))) continue
    const code = await tree.text(path, CHECK_CODE_FILE_MAX_BYTES)
    if (path !== 'server.js' && path !== watched && !LISTENS.test(code) && !(serves && path !== main)) continue
    const runner = !path.endsWith('.ts')
      ? 'node'
      : dependencies.has('tsx')
        ? 'npx --no-install tsx'
        : dependencies.has('ts-node')
          ? 'npx --no-install ts-node'
          : 'node'
    return { start: `${runner} ${quoteWord(path)}`, port: portOfFile(code), because: [path] }
  }
  return undefined
}

async function frameworkOf({ tree, dependencies, scripts }: Project): Promise<Framework | undefined> {
  const uses = (name: string) => dependencies.has(name)
  if (uses('next')) {
    const config = await configOf(tree, 'next.config')
    return /output:\s*['"]export/.test(config)
      ? { name: 'next', port: 3000, pages: 'out', build: 'next build' }
      : { name: 'next', port: 3000, server: 'npx --no-install next start -p "$PORT"', build: 'next build' }
  }
  if (uses('nuxt'))
    return /generate/.test(text(scripts['build']) ?? '')
      ? { name: 'nuxt', port: 3000, pages: '.output/public' }
      : { name: 'nuxt', port: 3000, server: 'node .output/server/index.mjs', build: 'nuxt build' }
  if (uses('@remix-run/serve'))
    return {
      name: 'remix',
      port: 3000,
      server: `npx --no-install remix-serve ${uses('vite') ? './build/server/index.js' : './build/index.js'}`,
      build: uses('vite') ? 'remix vite:build' : 'remix build',
    }
  if (uses('@react-router/serve'))
    return {
      name: 'react-router',
      port: 3000,
      server: 'npx --no-install react-router-serve ./build/server/index.js',
      build: 'react-router build',
    }
  if (uses('@sveltejs/adapter-node'))
    return { name: 'sveltekit', port: 3000, server: 'node build', build: 'vite build' }
  if (uses('@sveltejs/adapter-static')) return { name: 'sveltekit', port: 8080, pages: 'build', build: 'vite build' }
  if (uses('@sveltejs/kit'))
    return {
      name: 'sveltekit',
      port: 4173,
      server: 'npx --no-install vite preview --port "$PORT"',
      build: 'vite build',
    }
  if (uses('@astrojs/node'))
    return { name: 'astro', port: 4321, server: 'node ./dist/server/entry.mjs', build: 'astro build' }
  if (uses('@nestjs/core')) return { name: 'nest', port: 3000, server: 'node dist/main.js', build: 'nest build' }
  if (uses('@angular/core')) return { name: 'angular', port: 8080, pages: await angularPages(tree), build: 'ng build' }
  if (SERVES.some(uses)) return undefined
  const pages = PAGES.find(([name]) => uses(name))
  if (pages === undefined) return undefined
  const [name, otherwise, build] = pages
  const directory =
    name === 'vite'
      ? (/outDir:\s*['"](?:\.\/)?([\w/-]+)['"]/.exec(await configOf(tree, 'vite.config'))?.[1] ?? otherwise)
      : otherwise
  return { name, port: 8080, pages: directory, build }
}

const PAGES: [name: string, pages: string, build: string][] = [
  ['astro', 'dist', 'astro build'],
  ['gatsby', 'public', 'gatsby build'],
  ['@docusaurus/core', 'build', 'docusaurus build'],
  ['vitepress', 'docs/.vitepress/dist', 'vitepress build docs'],
  ['@11ty/eleventy', '_site', 'eleventy'],
  ['react-scripts', 'build', 'react-scripts build'],
  ['@craco/craco', 'build', 'craco build'],
  ['@vue/cli-service', 'dist', 'vue-cli-service build'],
  ['@rsbuild/core', 'dist', 'rsbuild build'],
  ['vite', 'dist', 'vite build'],
  ['parcel', 'dist', 'parcel build'],
  ['webpack', 'dist', 'webpack'],
]

async function configOf(tree: TreeReader, name: string): Promise<string> {
  const path = await tree.firstOf(['js', 'mjs', 'ts', 'cjs', 'mts'].map((ending) => `${name}.${ending}`))
  return path === undefined ? '' : tree.text(path)
}

async function angularPages(tree: TreeReader): Promise<string> {
  const [name, project] = Object.entries(table((await tree.json('angular.json'))?.['projects']))[0] ?? ['app', {}]
  const target = table(table(table(project)['architect'])['build'])
  const path = table(target['options'])['outputPath']
  const base = text(path) ?? text(table(path)['base']) ?? `dist/${name}`
  return /:application$/.test(text(target['builder']) ?? '') ? `${base}/browser` : base
}
