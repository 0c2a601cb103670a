/** Which package manager a Node project uses, and how it fetches without scripts and installs without a network. */
import { CHECK_WORKSPACES_MAX } from '../../limits.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import type { CheckPlan } from '../../protocol/check/reality-check.ts'
import type { ToolNeed } from './found.ts'
import { type TreeReader, table, text, texts } from './tree-reader.ts'

export interface Manager {
  because: string[]
  fetch: CheckPlan['fetch']
  install: string | null
  /** Runs a script of the package. */
  run(script: string): string
  needs: ToolNeed[]
}

type Name = 'npm' | 'pnpm' | 'yarn' | 'bun'

const LOCKS: [string, Name][] = [
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
]
const NPM = '--cache "$RESOLVE_CACHE/npm" --no-audit --no-fund'
const NPX = 'npm_config_cache="$RESOLVE_CACHE/npm" npx --yes'

export async function nodeManager(tree: TreeReader, manifest: Record<string, unknown>): Promise<Manager> {
  const [, given, version] = /^(npm|pnpm|yarn|bun)@(\d+\.\d+\.\d+)/.exec(text(manifest['packageManager']) ?? '') ?? []
  const locks = await Promise.all(LOCKS.map(async (lock) => ((await tree.has(lock[0])) ? [lock] : [])))
  const there = locks.flat()
  const lock = given === undefined ? there[0] : there.find(([, name]) => name === given)
  const engine = (['pnpm', 'yarn', 'bun'] as const).find((key) => table(manifest['engines'])[key] !== undefined)
  const name = (given as Name | undefined) ?? lock?.[1] ?? engine ?? 'npm'
  const because = [given !== undefined ? 'package.json packageManager' : (lock?.[0] ?? '')].filter(Boolean)
  const known = { lock: lock?.[0], files: await manifestsOf(tree, manifest, lock?.[0]), version }
  const manager = { npm, pnpm, yarn, bun }[name]
  const managed = await manager({ ...known, tree })
  return { ...managed, ...(hasDependencies(manifest) ? {} : { fetch: null, install: null }), because }
}

interface Known {
  tree: TreeReader
  lock: string | undefined
  files: string[]
  version: string | undefined
}

type Managed = Omit<Manager, 'because'>

/** Without a lock the fetch makes one. It then asks for the same as the install does later: a lock may lack addresses, and npm keeps answers by what it asked. */
function npm({ lock, files }: Known): Managed {
  const kept = '"$RESOLVE_CACHE/package-lock.json"'
  return {
    fetch: {
      command:
        lock === undefined
          ? `npm install --package-lock-only --ignore-scripts ${NPM} && npm ci --ignore-scripts ${NPM} && cp package-lock.json ${kept}`
          : `npm ci --ignore-scripts ${NPM}`,
      files,
    },
    install: `${lock === undefined ? `cp ${kept} . && ` : ''}npm ci --offline ${NPM}`,
    run: (script) => (script === 'start' ? 'npm start' : `npm run ${quoteWord(script)}`),
    needs: [{ tool: 'npm', range: '*' }],
  }
}

/** The manager comes from the registry by npm, in the version that the project names; so the room needs npm alone. */
async function pnpm({ tree, lock, files, version }: Known): Promise<Managed> {
  const format = /^lockfileVersion:\s*['"]?(\d+)/m.exec(
    lock === undefined ? '' : await tree.text(lock, 8 * 1024 * 1024),
  )?.[1]
  const tool = `pnpm@${version ?? { '5': '7', '6': '8' }[format ?? ''] ?? '10'}`
  const store = '--store-dir "$RESOLVE_CACHE/pnpm"'
  const kept = '"$RESOLVE_CACHE/pnpm-lock.yaml"'
  const scriptless = '--ignore-scripts --ignore-pnpmfile'
  return {
    fetch: {
      command:
        lock === undefined
          ? `${NPX} ${tool} install ${scriptless} ${store} && cp pnpm-lock.yaml ${kept}`
          : `${NPX} ${tool} install --frozen-lockfile ${scriptless} ${store}`,
      files,
    },
    install: `${lock === undefined ? `cp ${kept} . && ` : ''}${NPX} --offline ${tool} install --offline --frozen-lockfile ${store}`,
    run: (script) => `${NPX} --offline ${tool} run ${quoteWord(script)}`,
    needs: [{ tool: 'npm', range: '*' }],
  }
}

async function yarn({ tree, lock, files, version }: Known): Promise<Managed> {
  const isClassic =
    version === undefined
      ? lock === undefined || !/^__metadata:/m.test(await tree.text(lock, 8 * 1024 * 1024))
      : version.startsWith('1.')
  const tool = isClassic
    ? `--package yarn@${version ?? '1'} yarn`
    : `--package @yarnpkg/cli-dist@${version ?? '4'} yarn`
  const cache = isClassic
    ? 'YARN_CACHE_FOLDER="$RESOLVE_CACHE/yarn" '
    : 'YARN_IGNORE_PATH=1 YARN_ENABLE_TELEMETRY=0 YARN_ENABLE_GLOBAL_CACHE=0 YARN_CACHE_FOLDER="$RESOLVE_CACHE/yarn" '
  const frozen = lock === undefined ? '' : isClassic ? ' --frozen-lockfile' : ' --immutable'
  const kept = '"$RESOLVE_CACHE/yarn.lock"'
  // Settings of a newer Yarn name programs of the project, which it runs; so they are not there when it fetches.
  const safe = files.filter((path) => path !== '.yarnrc.yml')
  return {
    fetch: {
      command: isClassic
        ? `${cache}${NPX} ${tool} install --ignore-scripts --non-interactive${frozen}${lock === undefined ? ` && cp yarn.lock ${kept}` : ''}`
        : `${lock === undefined ? 'touch yarn.lock && ' : ''}${cache}YARN_ENABLE_SCRIPTS=0 ${NPX} ${tool} install --mode=skip-build${frozen}${lock === undefined ? ` && cp yarn.lock ${kept}` : ''}`,
      files: safe,
    },
    install: `${lock === undefined ? `cp ${kept} . && ` : ''}${cache}${isClassic ? '' : 'YARN_ENABLE_NETWORK=0 '}${NPX} --offline ${tool} install${isClassic ? ` --offline --non-interactive${frozen || ' --frozen-lockfile'}` : ' --immutable'}`,
    run: (script) => `${cache}${NPX} --offline ${tool} run ${quoteWord(script)}`,
    needs: [{ tool: 'npm', range: '*' }],
  }
}

function bun({ lock, files }: Known): Managed {
  const cache = 'BUN_INSTALL_CACHE_DIR="$RESOLVE_CACHE/bun" '
  const frozen = lock === undefined ? '' : ' --frozen-lockfile'
  return {
    fetch: { command: `${cache}bun install --ignore-scripts${frozen}`, files },
    install: `${cache}bun install --prefer-offline${frozen}`,
    run: (script) => `bun run ${quoteWord(script)}`,
    needs: [{ tool: 'bun', range: '*' }],
  }
}

function hasDependencies(manifest: Record<string, unknown>): boolean {
  const fields = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']
  return workspacesOf(manifest).length > 0 || fields.some((field) => Object.keys(table(manifest[field])).length > 0)
}

function workspacesOf(manifest: Record<string, unknown>): string[] {
  const { workspaces } = manifest
  return Array.isArray(workspaces) ? texts(workspaces) : texts(table(workspaces)['packages'])
}

/** The directories of the workspaces, as `packages/*` or by their paths. */
export async function workspaceDirectories(tree: TreeReader, manifest: Record<string, unknown>): Promise<string[]> {
  const listed = [...(await tree.text('pnpm-workspace.yaml')).matchAll(/^\s*-\s*['"]?([^'"#\n]+?)['"]?\s*$/gm)]
  const patterns = [...workspacesOf(manifest), ...listed.map(([, pattern]) => pattern ?? '')]
  const found = new Set<string>()
  for (const pattern of patterns.slice(0, CHECK_WORKSPACES_MAX)) {
    const path = pattern.replace(/^\.\//, '').replace(/\/$/, '')
    const parent = /^([\w@./-]+?)\/\*\*?$/.exec(path)?.[1] ?? (path === '*' ? '' : undefined)
    const paths =
      parent === undefined
        ? [path]
        : (await tree.directories(parent)).map((name) => [parent, name].filter(Boolean).join('/'))
    for (const directory of paths) if (await tree.has(`${directory}/package.json`)) found.add(directory)
  }
  return [...found].slice(0, CHECK_WORKSPACES_MAX)
}

async function manifestsOf(
  tree: TreeReader,
  manifest: Record<string, unknown>,
  lock: string | undefined,
): Promise<string[]> {
  const local = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((field) =>
    Object.values(table(manifest[field])).flatMap(
      (value) => /^(?:file|link|portal):(?:\.\/)?([\w@./-]+)$/.exec(text(value) ?? '')?.[1] ?? [],
    ),
  )
  const directories = [...(await workspaceDirectories(tree, manifest)), ...local.map((path) => path.replace(/\/$/, ''))]
  const patches = (await tree.files('patches')).map((name) => `patches/${name}`)
  const paths = [
    'package.json',
    ...(lock === undefined ? [] : [lock]),
    '.npmrc',
    'pnpm-workspace.yaml',
    '.yarnrc.yml',
    ...directories.map((directory) => `${directory}/package.json`),
    ...local,
    ...(lock === 'pnpm-lock.yaml' ? patches : []),
  ]
  const there = await Promise.all(paths.map(async (path) => ((await tree.has(path)) ? path : '')))
  return [...new Set(there.filter(Boolean))]
}
