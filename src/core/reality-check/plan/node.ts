/** Detects Node software by its `package.json`. */
import { quoteWord } from '../../primitives/quote-word.ts'
import { atLeast, type Found, nothingFound, PlanFault, type ToolNeed } from './found.ts'
import { type Manager, nodeManager, workspaceDirectories } from './node-manager.ts'
import { nodeStart } from './node-start.ts'
import { type TreeReader, table, text } from './tree-reader.ts'

/** npm without a network waits 71 s before it gives up, unless it does not try again. */
const ENV = {
  npm_config_fetch_retries: '0',
  npm_config_update_notifier: 'false',
  DO_NOT_TRACK: '1',
  NEXT_TELEMETRY_DISABLED: '1',
}
const VIEWS = ['ejs', 'pug', 'hbs', 'express-handlebars', 'nunjucks', 'react', 'vue', 'svelte']

export async function detectNode(tree: TreeReader): Promise<Found | undefined> {
  const manifest = await tree.json('package.json')
  if (manifest === undefined) return undefined
  const manager = await nodeManager(tree, manifest)
  const scripts = table(manifest['scripts'])
  const dependencies = dependenciesOf(manifest)
  const found: Found = {
    ...nothingFound('node', ['package.json', ...manager.because]),
    fetch: manager.fetch,
    install: manager.install,
    env: ENV,
    needs: [...(await nodeNeeds(tree, manifest)), ...manager.needs],
    paths: ['node_modules/.bin'],
  }
  const start = await nodeStart({ tree, manager, scripts, dependencies, main: text(manifest['main']) })
  const bins = binsOf(manifest)
  // The `start` script of a tool shows it; whether it serves is not to be seen, so what it declares decides.
  if (start !== undefined && !(bins.length > 0 && text(scripts['start']) === undefined && !start.hasPages)) {
    const { hasPages, ...rest } = start
    const type = hasPages || (await showsPages(tree, dependencies)) ? 'web_app' : 'api_service'
    return { ...found, ...rest, type, because: [...found.because, ...rest.because] }
  }
  const build = text(scripts['build']) === undefined ? null : manager.run('build')
  if (bins.length > 0) return tool(found, bins, build)
  return (
    (await ofWorkspace(tree, manifest, manager, found, build)) ?? {
      ...found,
      type: (await isLibrary(tree, manifest)) ? 'library' : null,
      build,
    }
  )
}

function dependenciesOf(manifest: Record<string, unknown>): Set<string> {
  return new Set(
    ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((key) => Object.keys(table(manifest[key]))),
  )
}

async function nodeNeeds(tree: TreeReader, manifest: Record<string, unknown>): Promise<ToolNeed[]> {
  const major = async (name: string) => /^\s*v?(\d+)/.exec(await tree.text(name))?.[1]
  const range =
    atLeast(table(manifest['engines'])['node']) ?? atLeast((await major('.nvmrc')) ?? (await major('.node-version')))
  return [{ tool: 'node', range: range ?? '*' }]
}

async function showsPages(tree: TreeReader, dependencies: Set<string>): Promise<boolean> {
  if (VIEWS.some((name) => dependencies.has(name)) || (await tree.has('index.html'))) return true
  const directories = await tree.directories()
  return ['public', 'views', 'client', 'frontend', 'static', 'pages'].some((name) => directories.includes(name))
}

function binsOf(manifest: Record<string, unknown>): [name: string, path: string][] {
  const own = (text(manifest['name']) ?? 'app').split('/').pop() ?? 'app'
  const bin = text(manifest['bin']) === undefined ? table(manifest['bin']) : { [own]: manifest['bin'] }
  return Object.entries(bin).flatMap(([name, path]) => {
    const file = text(path)?.replace(/^\.\//, '')
    const isSafe =
      file !== undefined && /^[\w.-]+$/.test(name) && !file.startsWith('/') && !file.split('/').includes('..')
    return isSafe ? [[name, file]] : []
  })
}

/** Its programs by their names in a directory of PATH, as an installed package has them. */
function tool(found: Found, bins: [string, string][], build: string | null): Found {
  const links = bins.map(
    ([name, path]) => `chmod +x ${quoteWord(path)} && ln -sf ${quoteWord(`../${path}`)} .resolve-bin/${name}`,
  )
  return {
    ...found,
    type: 'cli_tool',
    build: [...(build === null ? [] : [build]), 'mkdir -p .resolve-bin', ...links].join(' && '),
    because: [...found.because, 'package.json bin'],
    paths: ['.resolve-bin', ...found.paths],
  }
}

/** npm writes a `main` into each manifest, whether there is such a file or not; a build may make it. */
async function isLibrary(tree: TreeReader, manifest: Record<string, unknown>): Promise<boolean> {
  const main = text(manifest['main'])?.replace(/^\.\//, '')
  if (manifest['exports'] !== undefined || manifest['module'] !== undefined) return true
  return main !== undefined && (/^(?:dist|lib|build|out)\//.test(main) || (await tree.has(main)))
}

/** The one package of a workspace that has a `start` script. */
async function ofWorkspace(
  tree: TreeReader,
  manifest: Record<string, unknown>,
  manager: Manager,
  found: Found,
  build: string | null,
): Promise<Found | undefined> {
  const startable: { directory: string; scripts: Record<string, unknown> }[] = []
  for (const directory of await workspaceDirectories(tree, manifest)) {
    const scripts = table((await tree.json(`${directory}/package.json`))?.['scripts'])
    if (text(scripts['start']) !== undefined) startable.push({ directory, scripts })
  }
  const [only, ...others] = startable
  if (only === undefined) return undefined
  if (others.length > 0)
    throw new PlanFault(
      `Several packages have a start script (${startable.map(({ directory }) => directory).join(', ')}): give environment.start, or environment.workdir.`,
    )
  const within = `cd ${quoteWord(only.directory)} && `
  const own = text(only.scripts['build']) === undefined ? null : `${within}${manager.run('build')}`
  return {
    ...found,
    type: 'web_app',
    build: build ?? own,
    start: `${within}${manager.run('start')}`,
    port: 3000,
    because: [...found.because, `${only.directory}/package.json scripts.start`],
  }
}
