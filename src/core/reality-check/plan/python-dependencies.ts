/** What Python software depends on, as requirements of pip, whichever tool wrote it down; a lock of another tool becomes constraints. */
import { CHECK_CONSTRAINTS_MAX, CHECK_LOCK_MAX_BYTES } from '../../limits.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import type { CheckPlan } from '../../protocol/check/reality-check.ts'
import { type TreeReader, table, text, texts } from './tree-reader.ts'

export interface PythonDependencies {
  /** The file that they are in. */
  sign: string
  /** Lowercase names with `-`. */
  names: Set<string>
  fetch: CheckPlan['fetch']
  install: string | null
  wanted: unknown
  /** Names of the programs that it installs. */
  scripts: string[]
  /** Whether it says how it is packaged. */
  isPackage: boolean
}

const WHEELS = '"$RESOLVE_CACHE/wheels"'
const DOWNLOAD = `python3 -m pip download --only-binary :all: -d ${WHEELS}`
const VENV = 'python3 -m venv .venv && .venv/bin/pip install'
const LINKS = `--no-index --find-links ${WHEELS}`

export async function pythonDependencies(tree: TreeReader): Promise<PythonDependencies | undefined> {
  const project = await tree.toml('pyproject.toml')
  const poetry = table(table(project?.['tool'])['poetry'])
  const standard = table(project?.['project'])
  const declared = Object.keys(poetry).length > 0 && !Array.isArray(standard['dependencies']) ? poetry : standard
  const isProject = Object.keys(standard).length > 0 || Object.keys(poetry).length > 0
  const hasRequirements = await tree.has('requirements.txt')
  if (hasRequirements && !(await tree.has('uv.lock')) && !(await tree.has('poetry.lock')))
    return fromRequirements(tree, declared, standard)
  if (isProject) return fromProject(tree, project ?? {}, standard, poetry)
  const pipfile = await tree.toml('Pipfile')
  if (pipfile !== undefined) {
    const wanted = table(pipfile['requires'])['python_version']
    return listed(tree, 'Pipfile', poetryRequirements(table(pipfile['packages'])), wanted)
  }
  if (hasRequirements) return fromRequirements(tree, declared, standard)
  return (await tree.has('setup.py')) ? fromSetup(tree) : undefined
}

async function fromRequirements(
  tree: TreeReader,
  declared: Record<string, unknown>,
  standard: Record<string, unknown>,
): Promise<PythonDependencies> {
  const files = await includedBy(tree, 'requirements.txt')
  const lines = (await Promise.all(files.map((path) => tree.text(path)))).join('\n').split(/\r?\n/)
  const wanted = declared['requires-python']
  const known = {
    sign: 'requirements.txt',
    names: namesOf(lines),
    wanted,
    scripts: Object.keys(table(standard['scripts'])),
    isPackage: Object.keys(standard).length > 0,
  }
  const direct = lines.filter((line) =>
    /^\s*(?:-e|--editable|\.\.?(?:\/|\s*$|\[))|git\+|^\s*[^#\s]+\s*@|:\/\//.test(line),
  )
  if (!lines.some((line) => /^\s*[^#\s]/.test(line))) return { ...known, fetch: null, install: null }
  if (direct.length === 0) {
    const fetch = { command: `${DOWNLOAD} -r requirements.txt`, files }
    return { ...known, fetch, install: `${VENV} ${LINKS} -r requirements.txt` }
  }
  // Sources of a package run code when they are looked at: they wait for the stage that may.
  return { ...known, fetch: null, install: `${VENV} -r requirements.txt` }
}

async function includedBy(tree: TreeReader, first: string): Promise<string[]> {
  const files = [first]
  for (const path of files) {
    const directory = path.split('/').slice(0, -1).join('/')
    for (const [, name = ''] of (await tree.text(path)).matchAll(
      /^\s*(?:-r|-c|--requirement|--constraint)[ =]+(\S+)/gm,
    )) {
      const inner = [directory, name.replace(/^\.\//, '')].filter(Boolean).join('/')
      if (!files.includes(inner) && files.length < 20 && (await tree.has(inner))) files.push(inner)
    }
  }
  return files
}

async function fromProject(
  tree: TreeReader,
  project: Record<string, unknown>,
  standard: Record<string, unknown>,
  poetry: Record<string, unknown>,
): Promise<PythonDependencies> {
  const { python, ...others } = table(poetry['dependencies'])
  const requirements = [...texts(standard['dependencies']), ...poetryRequirements(others)]
  const scripts = [...Object.keys(table(standard['scripts'])), ...Object.keys(table(poetry['scripts']))]
  const backend = texts(table(project['build-system'])['requires'])
  const packages = backend.length > 0 && (scripts.length > 0 || (await tree.has('src', 'directory')))
  const wanted = standard['requires-python'] ?? python
  const found = await listed(tree, 'pyproject.toml', requirements, wanted, packages ? backend : undefined)
  return { ...found, scripts, isPackage: backend.length > 0 }
}

/** `backend`: what builds the package itself, so that it is installed too, with its programs. */
async function listed(
  tree: TreeReader,
  sign: string,
  requirements: string[],
  wanted: unknown,
  backend?: string[],
): Promise<PythonDependencies> {
  const known = { sign, names: namesOf(requirements), wanted, scripts: [], isPackage: false }
  const itself = backend === undefined ? [] : ['-e', '.']
  if (requirements.length === 0 && backend === undefined) return { ...known, fetch: null, install: null }
  if (requirements.some((line) => line.includes('@')))
    return { ...known, fetch: null, install: `${VENV} ${words([...requirements, ...itself])}` }
  const { pins, files } = await constraints(tree)
  const list = '"$RESOLVE_CACHE/constraints.txt"'
  const write = pins.length === 0 ? '' : `printf '%s\\n' ${words(pins)} > ${list} && `
  const bound = pins.length === 0 ? '' : `-c ${list} `
  const builders =
    backend === undefined ? '' : ` && ${DOWNLOAD} ${words([...backend, 'setuptools', 'wheel', 'editables'])}`
  const first = requirements.length === 0 ? 'true' : `${write}${DOWNLOAD} ${bound}${words(requirements)}`
  return {
    ...known,
    fetch: { command: `${first}${builders}`, files: [sign, ...files] },
    install: `${VENV} ${LINKS} ${words([...requirements, ...itself])}`,
  }
}

const words = (list: string[]) => list.map(quoteWord).join(' ')

async function fromSetup(tree: TreeReader): Promise<PythonDependencies> {
  const names = namesOf(
    [...(await tree.text('setup.py')).matchAll(/["']([\w.-]+)[^"']*["']/g)].map(([, name]) => name ?? ''),
  )
  const scripts = [...(await tree.text('setup.py')).matchAll(/["']([\w-]+)\s*=\s*[\w.]+:\w+["']/g)].map(
    ([, name]) => name ?? '',
  )
  return { sign: 'setup.py', names, isPackage: true, fetch: null, install: `${VENV} -e .`, wanted: undefined, scripts }
}

function namesOf(requirements: string[]): Set<string> {
  const names = requirements.flatMap((line) => /^\s*([A-Za-z0-9][\w.-]*)(\[[^\]]*\])?/.exec(line)?.[1] ?? [])
  return new Set(names.map(normal))
}

const normal = (name: string) => name.toLowerCase().replace(/[-_.]+/g, '-')

/** The requirements of Poetry and Pipenv: `^1.2`, `~1.2`, `*`, `1.2`, or a table. */
function poetryRequirements(dependencies: Record<string, unknown>): string[] {
  return Object.entries(dependencies).flatMap(([name, value]) => {
    const options = table(value)
    if (!/^[\w.-]+$/.test(name) || options['optional'] === true || options['path'] !== undefined) return []
    const extras = texts(options['extras']).join(',')
    const full = extras === '' ? name : `${name}[${extras}]`
    const git = text(options['git'])
    if (git !== undefined) return [`${full} @ git+${git}`]
    const version = text(value) ?? text(options['version']) ?? '*'
    return [`${full}${version.split(',').map(asSpecifier).filter(Boolean).join(',')}`]
  })
}

function asSpecifier(version: string): string {
  const [, sign = '', number = ''] = /^\s*(\^|~(?!=))?\s*(.*?)\s*$/.exec(version) ?? []
  if (sign === '') return /^\d/.test(number) ? `==${number}` : number === '*' ? '' : number
  const parts = number.split('.').map(Number)
  const first = parts.findIndex((part) => part > 0)
  const last = sign === '~' ? Math.min(1, parts.length - 1) : first === -1 ? parts.length - 1 : first
  const upper = parts.slice(0, last + 1).map((part, at) => (at === last ? part + 1 : part))
  return `>=${number},<${upper.join('.')}`
}

/** Every package with one version in the lock that is there. */
async function constraints(tree: TreeReader): Promise<{ pins: string[]; files: string[] }> {
  const sign = await tree.firstOf(['uv.lock', 'poetry.lock', 'pdm.lock', 'Pipfile.lock'])
  if (sign === undefined) return { pins: [], files: [] }
  const lock = await (sign === 'Pipfile.lock'
    ? tree.json(sign, CHECK_LOCK_MAX_BYTES)
    : tree.toml(sign, CHECK_LOCK_MAX_BYTES))
  const packages = Array.isArray(lock?.['package'])
    ? lock['package'].map(table).map(({ name, version }) => [text(name), text(version)] as const)
    : Object.entries(table(lock?.['default'])).map(
        ([name, value]) => [name, text(table(value)['version'])?.replace(/^==/, '')] as const,
      )
  const pins = new Set(
    packages.flatMap(([name, version]) =>
      name !== undefined && version !== undefined && /^[\w.-]+$/.test(name) && /^[\w.!+-]+$/.test(version)
        ? [`${name}==${version}`]
        : [],
    ),
  )
  const seen = Map.groupBy(pins, (pin) => pin.split('==')[0])
  const single = [...seen.values()].filter((versions) => versions.length === 1).map(([pin]) => pin as string)
  return { pins: single.slice(0, CHECK_CONSTRAINTS_MAX), files: [sign] }
}
