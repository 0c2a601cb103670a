/** Finds out how software is built and started (docs/reality-check.md, How it finds out what to run). A check calls it with a fresh clone. */
import { quoteWord } from '../../primitives/quote-word.ts'
import type { CheckEnvironment, CheckPlan, SoftwareType } from '../../protocol/check/reality-check.ts'
import { detectDockerfile, exposedPort } from './dockerfile.ts'
import { type Found, nothingFound, PlanFault, type ToolNeed } from './found.ts'
import { detectGo } from './go.ts'
import { detectJava } from './java.ts'
import { detectNode } from './node.ts'
import { portIn, portOfExample } from './ports.ts'
import { type Procfile, readProcfile } from './procfile.ts'
import { detectPython } from './python.ts'
import { detectRust } from './rust.ts'
import type { SourceTree } from './source-tree.ts'
import { detectStatic } from './static.ts'
import { TreeReader } from './tree-reader.ts'

/**
 * `fault` is one sentence for the author of the request: failure mode `config`. `needs` are the tools that the room must have, and `paths` the
 * directories below `workdir` that come first in PATH for commands of tests. Files of `fetch` are relative to `workdir`.
 */
export type PlanOutcome = { plan: CheckPlan; needs: ToolNeed[]; paths: string[] } | { fault: string }

type Language = CheckPlan['language']
type Detect = (tree: TreeReader) => Promise<Found | undefined>

/** In the order of their signs: the first whose software can be started wins. */
const ECOSYSTEMS: [Language, Detect][] = [
  ['go', detectGo],
  ['java', detectJava],
  ['rust', detectRust],
  ['python', detectPython],
  ['node', detectNode],
  ['static', detectStatic],
]

const LANGUAGES: Record<string, Language> = {
  ...Object.fromEntries(ECOSYSTEMS.map(([language]) => [language, language])),
  ...{ javascript: 'node', js: 'node', typescript: 'node', ts: 'node', nodejs: 'node', 'node.js': 'node', bun: 'node' },
  ...{ py: 'python', python3: 'python', golang: 'go', rs: 'rust', kotlin: 'java', jvm: 'java', html: 'static' },
  ...{ docker: 'docker', dockerfile: 'docker', none: 'none', shell: 'none', bash: 'none' },
}

export async function detectPlan(
  sources: SourceTree,
  environment: CheckEnvironment,
  options: { dockerfile?: boolean } = {},
): Promise<PlanOutcome> {
  try {
    const workdir = workdirOf(environment.workdir)
    return await planIn(sources, environment, workdir, options.dockerfile ?? false)
  } catch (error) {
    if (error instanceof PlanFault) return { fault: error.message }
    throw error
  }
}

async function planIn(
  sources: SourceTree,
  environment: CheckEnvironment,
  workdir: string,
  dockerfile: boolean,
): Promise<PlanOutcome> {
  const tree = new TreeReader(sources, workdir)
  if (workdir !== '' && (await tree.list()).length === 0)
    throw new PlanFault(
      `environment.workdir is ${workdir}, which the software does not have: give one of its directories.`,
    )
  const procfile = await readProcfile(tree)
  const language = languageOf(environment.language)
  const found = await foundIn(tree, environment, language, procfile, dockerfile)
  if (found === undefined) {
    const inner = workdir === '' && language === undefined ? await startableBelow(sources) : []
    if (inner.length === 1) return planIn(sources, environment, inner[0] as string, dockerfile)
    throw new PlanFault(await nothingToRun(tree, inner, dockerfile, language))
  }
  const chosen = withProcfile(found, procfile)
  return outcome(await refined(tree, chosen), chosen, environment, workdir)
}

function workdirOf(given: string | null): string {
  const path = (given ?? '').replace(/^(?:\.\/)+|\/+$/g, '').replace(/^\.$/, '')
  const isOutside = /^\/|[\0\n\r\\]/.test(path) || path.split('/').some((part) => part === '..' || part === '.')
  if (isOutside || path.includes('//'))
    throw new PlanFault(
      'environment.workdir leads out of the software: give a directory below its root, such as packages/api.',
    )
  return path
}

function languageOf(given: string | null): Language | undefined {
  if (given === null || /^(?:auto|)$/i.test(given.trim())) return undefined
  const language = Object.hasOwn(LANGUAGES, given.trim().toLowerCase())
    ? LANGUAGES[given.trim().toLowerCase()]
    : undefined
  if (language !== undefined) return language
  throw new PlanFault(
    `environment.language is ${JSON.stringify(given.slice(0, 40))}: give node, python, go, rust, java, static, docker or none.`,
  )
}

async function foundIn(
  tree: TreeReader,
  environment: CheckEnvironment,
  language: Language | undefined,
  procfile: Procfile | undefined,
  dockerfile: boolean,
): Promise<Found | undefined> {
  const isUnstarted = ['cli_tool', 'library'].includes(typeOf(environment.type) ?? '')
  const given = environment.start !== null || procfile !== undefined || isUnstarted
  if (language === 'none') return { ...nothingFound('none', ['environment.language']) }
  if (language === 'docker') return dockerfile ? detectDockerfile(tree) : undefined
  let first: Found | undefined
  for (const [name, detect] of ECOSYSTEMS) {
    if (language !== undefined && name !== language) continue
    const found = await detect(tree)
    if (found === undefined) continue
    // A page beside a library shows it; beside a manifest that says nothing it is the software.
    const isPage = found.language === 'static' && first?.type === 'library'
    if (given || (!isPage && found.type !== 'library' && found.type !== null)) return given ? (first ?? found) : found
    if (first === undefined || first.type === null) first = isPage ? first : found
  }
  if (first?.type === 'library' || (first !== undefined && language !== undefined)) return first
  if (language !== undefined && given) return nothingFound(language, ['environment.language'])
  if (dockerfile && language === undefined && !given) return detectDockerfile(tree)
  return given && language === undefined ? nothingFound('none', []) : undefined
}

/** Directories of the root that have a sign themselves, without those of pages and examples. */
async function startableBelow(sources: SourceTree): Promise<string[]> {
  const names = (await new TreeReader(sources).directories()).slice(0, 40)
  const kept = names.filter(
    (name) => !/^(?:\.|docs?$|examples?$|tests?$|e2e$|scripts$|node_modules$|vendor$)/.test(name),
  )
  const signs = ['go.mod', 'pom.xml', 'Cargo.toml', 'requirements.txt', 'pyproject.toml', 'package.json', 'Procfile']
  const found = await Promise.all(kept.map((name) => new TreeReader(sources, name).firstOf(signs)))
  return kept.filter((_, index) => found[index] !== undefined)
}

async function nothingToRun(
  tree: TreeReader,
  inner: string[],
  dockerfile: boolean,
  language: Language | undefined,
): Promise<string> {
  if (inner.length > 1) return `Several directories can be started (${inner.join(', ')}): give environment.workdir.`
  if (!dockerfile && (await tree.has('Dockerfile')))
    return 'Only its Dockerfile says how the software is built, which this host does not use: give environment.language and environment.start.'
  if (language !== undefined)
    return `environment.language is ${language}, and the software has no sign of it: give environment.start, or another language.`
  return 'Nothing in the software says how it is started: give environment.language and environment.start, or add a Procfile.'
}

function withProcfile(found: Found, procfile: Procfile | undefined): Found {
  if (procfile === undefined) return found
  const release = procfile.release === null ? null : inPath(procfile.release, found.paths)
  return {
    ...found,
    type: serverType(found.type),
    build: [found.build, release].filter((part) => part !== null).join(' && ') || null,
    start: inPath(procfile.web, found.paths),
    port: portIn(procfile.web) ?? found.port,
    because: [...found.because, 'Procfile web'],
  }
}

/** A command of a person, who expects the programs of the installed packages to be there. */
function inPath(command: string, paths: string[]): string {
  return paths.length === 0
    ? command
    : `export PATH="${paths.map((path) => `$PWD/${path}`).join(':')}:$PATH"; ${command}`
}

/** The port that files beside the code name. The server of static files and the image of a Dockerfile have their own. */
async function refined(tree: TreeReader, found: Found): Promise<number | null> {
  const { start, language } = found
  if (start === null || language === 'docker' || start.includes('static-server.mjs')) return found.port
  return portIn(start) ?? (await portOfExample(tree)) ?? (await exposedPort(tree)) ?? found.port
}

function outcome(port: number | null, found: Found, environment: CheckEnvironment, workdir: string): PlanOutcome {
  const type =
    typeOf(environment.type) ?? (environment.start === null ? (found.type ?? 'api_service') : serverType(found.type))
  const isServer = type === 'web_app' || type === 'api_service'
  if (!isServer && environment.start !== null)
    throw new PlanFault(
      `environment.type is ${type}, of which nothing is started: leave out environment.start, or give web_app or api_service.`,
    )
  const start = environment.start === null ? found.start : inPath(environment.start, found.paths)
  if (isServer && start === null)
    throw new PlanFault('Nothing in the software says how it is started: give environment.start.')
  const named = environment.start === null ? port : (portIn(environment.start) ?? port)
  const chosen = isServer ? (environment.port ?? named) : null
  const given = (['language', 'type', 'install', 'build', 'start', 'workdir', 'port'] as const).filter(
    (key) => environment[key] !== null,
  )
  const needsStatic = start?.includes('/var/tmp/room/static-server.mjs') ?? false
  const needs = needsStatic && found.language === 'static' ? [{ tool: 'node', range: '*' }] : found.needs
  return {
    plan: {
      language: found.language,
      type,
      fetch: environment.install === null ? found.fetch : null,
      install: environment.install === null ? found.install : installGiven(environment.install, found),
      build:
        environment.build === null ? found.build : orNull(inPath(environment.build, found.paths), environment.build),
      start: isServer ? start : null,
      workdir: workdir === '' ? '.' : workdir,
      port: chosen,
      port_given: environment.port !== null,
      env: { ...found.env, ...(isServer ? { PORT: String(chosen ?? 8080) } : {}), ...environment.env },
      because: [...new Set([...given.map((key) => `environment.${key}`), ...found.because])],
    },
    needs,
    paths: found.paths,
  }
}

/** pip of a system refuses to install beside it, so a given command of Python finds a venv. */
function installGiven(command: string, { language, paths }: Found): string | null {
  const venv = language === 'python' ? '[ -d .venv ] || python3 -m venv .venv; ' : ''
  const inside = language === 'python' ? ['.venv/bin'] : paths
  return orNull(`${venv}${inPath(command, inside)}`, command)
}

const orNull = (command: string, given: string) => (given.trim() === '' ? null : command)
const serverType = (type: Found['type']): SoftwareType => (type === 'web_app' ? 'web_app' : 'api_service')

function typeOf(given: string | null): SoftwareType | undefined {
  const type = given?.trim().toLowerCase() ?? ''
  if (type === '' || type === 'auto') return undefined
  if (/cli|command|tool|console/.test(type)) return 'cli_tool'
  if (/lib|package|sdk/.test(type)) return 'library'
  if (/api|service|server|backend|rest|graphql/.test(type)) return 'api_service'
  if (/web|site|page|app|static|frontend|spa/.test(type)) return 'web_app'
  throw new PlanFault(
    `environment.type is ${quoteWord(type.slice(0, 40))}: give web_app, api_service, cli_tool or library.`,
  )
}
