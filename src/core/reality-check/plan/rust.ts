/** Detects Rust software: its binary, the version of Cargo that it wants, whether it serves or is a tool. */
import { CHECK_CODE_FILE_MAX_BYTES, CHECK_WORKSPACES_MAX } from '../../limits.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import { type Found, need, nothingFound, PlanFault } from './found.ts'
import { portInCode } from './ports.ts'
import { type TreeReader, table, text, texts } from './tree-reader.ts'

const CACHE = 'CARGO_HOME="$RESOLVE_CACHE/cargo"'
const SERVES = [
  'axum',
  'actix-web',
  'rocket',
  'warp',
  'hyper',
  'tide',
  'poem',
  'salvo',
  'tower-http',
  'tiny_http',
  'ntex',
]
const PAGES = ['askama', 'tera', 'maud', 'minijinja', 'leptos', 'yew', 'dioxus', 'handlebars', 'rocket_dyn_templates']
/** The first version of Cargo that reads an edition. */
const EDITIONS: Record<string, string> = { '2018': '1.31', '2021': '1.56', '2024': '1.85' }

interface Package {
  directory: string
  name: string
  manifest: Record<string, unknown>
  targets: string[]
  bins: string[]
  dependencies: string[]
}

export async function detectRust(tree: TreeReader): Promise<Found | undefined> {
  const root = await tree.toml('Cargo.toml')
  if (root === undefined) return undefined
  const packages = await packagesOf(tree, root)
  const found: Found = {
    ...nothingFound('rust', ['Cargo.toml']),
    fetch: await fetchOf(tree, packages),
    needs: [need('cargo', await versionOf(tree, root, packages))],
  }
  const chosen = chosenOf(packages)
  const lock = (await tree.has('Cargo.lock')) ? '' : found.fetch === null ? '' : 'cp "$RESOLVE_CACHE/Cargo.lock" . && '
  const flags = found.fetch === null ? '' : ' --locked --offline'
  const build = `${lock}${CACHE} cargo build --release${flags}`
  const bin = chosen?.bins[0]
  if (chosen === undefined || bin === undefined) return { ...found, type: 'library', build }
  const because = [...found.because, `${at(chosen.directory, 'Cargo.toml')} bin ${bin}`]
  const program = `target/release/${bin}`
  const only = `${build}${packages.length > 1 ? ` -p ${quoteWord(chosen.name)}` : ''} --bin ${quoteWord(bin)}`
  const code = await codeOf(tree, chosen)
  if (!serves(chosen) && !/TcpListener/.test(code))
    return { ...found, type: 'cli_tool', build: only, because, paths: ['target/release'] }
  const isRocket = chosen.dependencies.includes('rocket')
  const isPages = chosen.dependencies.some((name) => PAGES.includes(name)) || (await tree.has('templates', 'directory'))
  return {
    ...found,
    type: isPages ? 'web_app' : 'api_service',
    build: only,
    start: `${isRocket ? 'ROCKET_PORT="$PORT" ' : ''}./${quoteWord(program)}`,
    port: isRocket ? 8000 : ((/"PORT"/.test(code) ? null : (portInCode(code) ?? bound(code))) ?? 8080),
    because,
  }
}

const at = (directory: string, name: string) => (directory === '' ? name : `${directory}/${name}`)
const serves = ({ dependencies }: Package) => dependencies.some((name) => SERVES.includes(name))
const bound = (code: string) => Number(/(?:0\.0\.0\.0|127\.0\.0\.1|localhost):(\d{2,5})"/.exec(code)?.[1]) || null

async function packagesOf(tree: TreeReader, root: Record<string, unknown>): Promise<Package[]> {
  const members = texts(table(root['workspace'])['members'])
  const directories = new Set<string>()
  for (const member of members) for (const directory of await expanded(tree, member)) directories.add(directory)
  const inner = await Promise.all(
    [...directories].slice(0, CHECK_WORKSPACES_MAX).map(async (directory) => {
      const manifest = await tree.toml(at(directory, 'Cargo.toml'))
      return manifest === undefined ? undefined : packageOf(tree, directory, manifest)
    }),
  )
  const own = table(root['package'])['name'] === undefined ? [] : [await packageOf(tree, '', root)]
  return [...own, ...inner.filter((found) => found !== undefined)]
}

async function expanded(tree: TreeReader, member: string): Promise<string[]> {
  const path = member.replace(/^\.\//, '').replace(/\/$/, '')
  if (!path.includes('*')) return [path]
  const parent = /^([\w./-]+)\/\*$/.exec(path)?.[1]
  return parent === undefined ? [] : (await tree.directories(parent)).map((name) => `${parent}/${name}`)
}

async function packageOf(tree: TreeReader, directory: string, manifest: Record<string, unknown>): Promise<Package> {
  const name = text(table(manifest['package'])['name']) ?? 'app'
  const listed = (Array.isArray(manifest['bin']) ? manifest['bin'] : []).map(table)
  const inBin = (await tree.files(at(directory, 'src/bin'))).filter((file) => file.endsWith('.rs'))
  const hasMain = await tree.has(at(directory, 'src/main.rs'))
  const given = [text(table(manifest['package'])['default-run']), ...listed.map((bin) => text(bin['name']))]
  const bins = [...given, hasMain ? name : undefined, ...inBin.map((file) => file.slice(0, -3))]
  const paths = [...listed, table(manifest['lib'])].flatMap((target) => text(target['path']) ?? [])
  const usual = ['src/main.rs', 'src/lib.rs', ...inBin.map((file) => `src/bin/${file}`), ...paths]
  const targets = await Promise.all(usual.map(async (path) => ((await tree.has(at(directory, path))) ? path : '')))
  const dependencies = Object.keys(table(manifest['dependencies']))
  return {
    directory,
    name,
    manifest,
    targets: targets.filter(Boolean),
    bins: bins.filter((bin) => bin !== undefined),
    dependencies,
  }
}

function chosenOf(packages: Package[]): Package | undefined {
  const runnable = packages.filter(({ bins }) => bins.length > 0)
  const own = runnable.find(({ directory }) => directory === '')
  const servers = runnable.filter(serves)
  if (own !== undefined || servers.length === 1) return own ?? servers[0]
  if (servers.length > 1)
    throw new PlanFault(
      `Several packages serve (${servers.map(({ name }) => name).join(', ')}): give environment.build and environment.start.`,
    )
  return runnable[0]
}

/** Cargo wants the files of its targets before it fetches; empty ones do. */
async function fetchOf(tree: TreeReader, packages: Package[]): Promise<Found['fetch']> {
  const kinds = ['dependencies', 'dev-dependencies', 'build-dependencies', 'target']
  if (!packages.some(({ manifest }) => kinds.some((kind) => Object.keys(table(manifest[kind])).length > 0))) return null
  const isLocked = await tree.has('Cargo.lock')
  const files = new Set(['Cargo.toml', ...(isLocked ? ['Cargo.lock'] : [])])
  for (const { directory } of packages) files.add(at(directory, 'Cargo.toml'))
  const targets = packages.flatMap(({ directory, targets }) => targets.map((path) => at(directory, path)))
  const parents = [...new Set(targets.map((path) => path.split('/').slice(0, -1).join('/')))].filter(Boolean)
  const empty = targets.length === 0 ? '' : `mkdir -p ${words(parents)} && touch ${words(targets)} && `
  const fetch = `${CACHE} cargo fetch${isLocked ? ' --locked' : ' && cp Cargo.lock "$RESOLVE_CACHE/Cargo.lock"'}`
  return { command: `${empty}${fetch}`, files: [...files] }
}

const words = (paths: string[]) => (paths.length === 0 ? '.' : paths.map(quoteWord).join(' '))

async function versionOf(tree: TreeReader, root: Record<string, unknown>, packages: Package[]): Promise<string> {
  const toolchain = table((await tree.toml('rust-toolchain.toml'))?.['toolchain'])['channel']
  const shared = table(table(root['workspace'])['package'])
  const own = table(packages[0]?.manifest['package'])
  const named = [toolchain, own['rust-version'], shared['rust-version']].find((value) => /^\d/.test(text(value) ?? ''))
  return text(named) ?? EDITIONS[text(own['edition']) ?? text(shared['edition']) ?? ''] ?? '*'
}

async function codeOf(tree: TreeReader, { directory, targets }: Package): Promise<string> {
  const read = targets.slice(0, 8).map((path) => tree.text(at(directory, path), CHECK_CODE_FILE_MAX_BYTES))
  return (await Promise.all(read)).join('\n')
}
