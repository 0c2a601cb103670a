/** Detects Go software: its main package, the version of Go that it wants, whether it serves or is a tool. */
import { CHECK_CODE_FILE_MAX_BYTES, CHECK_CODE_FILES_MAX } from '../../limits.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import { type Found, need, nothingFound, PlanFault } from './found.ts'
import { portInCode } from './ports.ts'
import type { TreeReader } from './tree-reader.ts'

const PORT = 8080
const CACHE = 'GOMODCACHE="$RESOLVE_CACHE/go"'
const ENV = { GOCACHE: '/tmp/go-build', GOTOOLCHAIN: 'local', GOTELEMETRY: 'off' }
const SERVES =
  /ListenAndServe|http\.Serve\(|net\.Listen\(|gin-gonic\/gin|labstack\/echo|gofiber\/fiber|go-chi\/chi|gorilla\/mux|httprouter|fasthttp|google\.golang\.org\/grpc|go-fuego|danielgtaylor\/huma/
const SERVERS = ['server', 'api', 'web', 'app', 'serve', 'http', 'service']

export async function detectGo(tree: TreeReader): Promise<Found | undefined> {
  const sign = await tree.firstOf(['go.work', 'go.mod'])
  if (sign === undefined) return undefined
  const modules = sign === 'go.work' ? await modulesOf(tree) : ['']
  const code = await codeOf(tree, modules)
  // A site generator's modules are in a go.mod too.
  if (code.size === 0) return undefined
  const found: Found = {
    ...nothingFound('go', [sign]),
    fetch: await fetchOf(tree, sign, modules),
    env: ENV,
    needs: [need('go', /^go\s+(\d[\d.]*)/m.exec(await tree.text(sign))?.[1])],
  }
  const main = mainPackage(code, modules)
  if (main === undefined) return { ...found, type: 'library', build: build(found, '', './...') }
  const all = [...code.values()].join('\n') + (await tree.text('go.mod'))
  if (SERVES.test(all)) {
    const out = (await tree.has('out', 'directory')) ? 'resolve-out' : 'out'
    const hasPages = (await tree.has('templates', 'directory')) || /html\/template|http\.FileServer/.test(all)
    return {
      ...found,
      type: hasPages ? 'web_app' : 'api_service',
      build: build(found, `-o ${out} `, main),
      start: `./${out}`,
      port: (/Getenv\(\s*"PORT"/.test(all) ? null : portInCode(all)) ?? PORT,
      because: [...found.because, main],
    }
  }
  const name = main === '.' ? await moduleName(tree) : (main.split('/').pop() ?? 'out')
  return {
    ...found,
    type: 'cli_tool',
    build: build(found, `-o .resolve-bin/${quoteWord(name)} `, main),
    because: [...found.because, main],
    paths: ['.resolve-bin'],
  }
}

const build = ({ fetch }: Found, out: string, main: string) =>
  `${CACHE} ${fetch === null ? '' : 'GOPROXY=off '}go build ${out}${quoteWord(main)}`

async function fetchOf(tree: TreeReader, sign: string, modules: string[]): Promise<Found['fetch']> {
  if (await tree.has('vendor/modules.txt')) return null
  const candidates = modules.flatMap((module) => ['go.mod', 'go.sum'].map((name) => at(module, name)))
  const files = sign === 'go.work' ? ['go.work', 'go.work.sum', ...candidates] : candidates
  const there = (await Promise.all(files.map(async (path) => ((await tree.has(path)) ? path : '')))).filter(Boolean)
  const texts = await Promise.all(there.map((path) => tree.text(path)))
  if (!texts.some((text) => /^\s*require\b/m.test(text))) return null
  return { command: `${CACHE} go mod download`, files: there }
}

async function modulesOf(tree: TreeReader): Promise<string[]> {
  const source = await tree.text('go.work')
  const used = [...source.matchAll(/^\s*(?:use\s+)?\.(?:\/([\w./-]+))?\s*$/gm)].map(([, path]) => path ?? '')
  if (used.length === 0) throw new PlanFault('go.work uses no module of the sources: give environment.workdir.')
  return used.map((path) => path.replace(/\/$/, ''))
}

const at = (directory: string, name: string) => (directory === '' ? name : `${directory}/${name}`)

/** The text of the Go files by directory: of the root, of `cmd` and what is below it, and of the usual folders. */
async function codeOf(tree: TreeReader, modules: string[]): Promise<Map<string, string>> {
  const code = new Map<string, string>()
  let left = CHECK_CODE_FILES_MAX
  const waiting = modules.map((directory) => ({ directory, depth: 0 }))
  for (const { directory, depth } of waiting) {
    const sources = (await tree.files(directory)).filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'))
    const read = await Promise.all(
      sources.slice(0, left).map((name) => tree.text(at(directory, name), CHECK_CODE_FILE_MAX_BYTES)),
    )
    left -= read.length
    if (read.length > 0) code.set(directory, read.join('\n'))
    if (left <= 0) break
    const inner = depth < 4 ? await tree.directories(directory) : []
    const kept = inner.filter((name) => !/^(?:\.|_|vendor$|testdata$|node_modules$|examples?$)/.test(name))
    waiting.push(...kept.map((name) => ({ directory: at(directory, name), depth: depth + 1 })))
  }
  return code
}

function mainPackage(code: Map<string, string>, modules: string[]): string | undefined {
  const mains = [...code].filter(([, text]) => /^package main\b/m.test(text)).map(([directory]) => directory)
  const first =
    modules.find((module) => mains.includes(module)) ??
    mains.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))[0]
  if (first === undefined) return undefined
  return first === '' ? '.' : `./${first}`
}

function rank(directory: string): number {
  const isCommand = /(?:^|\/)cmd\//.test(directory)
  const name = directory.split('/').pop() ?? ''
  return (isCommand ? 0 : 10) + (SERVERS.includes(name) ? SERVERS.indexOf(name) / 10 : 1)
}

async function moduleName(tree: TreeReader): Promise<string> {
  const path = /^module\s+(\S+)/m.exec(await tree.text('go.mod'))?.[1] ?? 'out'
  return (
    path
      .replace(/\/v\d+$/, '')
      .split('/')
      .pop() || 'out'
  )
}
