/**
 * Finds what bundles are made of: their files, and those that they include (docs/sessions.md, Bundles). The host walks to know what must be
 * fetched, the worker walks again to use it: both read strangers' files, and neither runs any of them.
 */
import { basename, dirname, join } from 'node:path'
import { SESSION_BUNDLE_DEPTH_MAX, SESSION_BUNDLE_UNITS_MAX } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { listIn, objectIn, textIn, YamlBudget } from './front-matter.ts'
import { Tree } from './tree.ts'

/** Where the files of an address are. */
export interface BundlePlace {
  /** For people, and the namespace of a bundle that names none. */
  name: string
  /** The directory that was fetched. */
  path: string
  /** The bundle in it: a directory or a file; empty for all of it. */
  subdirectory: string
}

/** `refused`: it was not fetched, for this reason. `satisfied`: this platform has what it would bring. */
export type FoundPlace = BundlePlace | { refused: string } | 'satisfied' | undefined

export interface BundleNote {
  bundle: string
  /** `unsupported`: it can't run here. `faulty`: it is broken or missing. */
  kind: 'unsupported' | 'faulty'
  what: string
}

/** One bundle, plugin or folder of skills. */
export interface BundleUnit {
  kind: 'amplifier' | 'plugin' | 'plain'
  namespace: string
  tree: Tree
  /** The root of the bundle, as a path of the tree. Paths in it begin there. */
  directory: string
  /** Whether the folders of the root belong to it: not for a further file of a bundle. */
  ownsFolders: boolean
  fields: Record<string, unknown>
  body: string
  /** Which of the bundles that were asked for it belongs to, by number. */
  top: number
}

export interface Walk {
  /** What is included comes before what includes it. */
  units: BundleUnit[]
  namespaces: Map<string, { tree: Tree; directory: string }>
  /** Addresses that the caller did not know. */
  wanted: string[]
  notes: BundleNote[]
  /** What its readers go on with. */
  yaml: YamlBudget
}

const BUNDLE_FILES = ['bundle.md', 'bundle.yaml', 'bundle.yml']
const PLUGIN_FILES = ['.claude-plugin/plugin.json', '.codex-plugin/plugin.json']
const MARKETPLACE = '.claude-plugin/marketplace.json'
const ENDINGS = ['', '.yaml', '.yml', '.md']
const NAMESPACED = /^([A-Za-z0-9][\w.-]*):(?!\/\/)([^:]*)$/

/** `lookup` answers undefined for an address that it does not know yet. */
export function walkBundles(tops: readonly BundlePlace[], lookup: (address: string) => FoundPlace): Walk {
  const walker = new Walker(lookup)
  for (const [top, place] of tops.entries()) walker.enter(place, top, 0)
  return walker.walk
}

/** Where the walk is. */
interface Step {
  tree: Tree
  /** For notes, and the namespace of a bundle that names none. */
  name: string
  top: number
  depth: number
}

class Walker {
  readonly walk: Walk = { units: [], namespaces: new Map(), wanted: [], notes: [], yaml: new YamlBudget() }
  readonly #rootNames = new Map<string, string | undefined>()
  readonly #lookup: (address: string) => FoundPlace
  readonly #seen = new Set<string>()
  readonly #trees = new Map<string, Tree>()

  constructor(lookup: (address: string) => FoundPlace) {
    this.#lookup = lookup
  }

  enter({ name, path, subdirectory }: BundlePlace, top: number, depth: number): void {
    const tree = this.#treeAt(path)
    if (tree === undefined) this.#note(name, 'its directory is missing')
    else this.#enterIn({ tree, name, top, depth }, subdirectory)
  }

  #treeAt(path: string): Tree | undefined {
    try {
      const tree = this.#trees.get(path) ?? new Tree(path)
      this.#trees.set(path, tree)
      return tree
    } catch {
      return undefined
    }
  }

  #enterIn(from: Step, subdirectory: string): void {
    const { tree, name } = from
    const found = ENDINGS.map((ending) => tree.find(subdirectory + ending)).find((one) => one !== undefined)
    if (found === undefined) this.#note(name, `there is no ${subdirectory} in it`)
    // A cycle ends here.
    else if (this.#seen.has(found.path)) return
    else if (this.#seen.size >= SESSION_BUNDLE_UNITS_MAX)
      this.#note(name, `more than ${SESSION_BUNDLE_UNITS_MAX} bundles are included`)
    else {
      this.#seen.add(found.path)
      const at = tree.within(found.path)
      if (found.isDirectory) this.#enterDirectory(from, at)
      else this.#amplifier(from, at, BUNDLE_FILES.includes(basename(at)))
    }
  }

  #enterDirectory(from: Step, at: string): void {
    const { tree, name, top } = from
    const bundle = BUNDLE_FILES.find((one) => tree.isFile(join(at, one)))
    const plugin = PLUGIN_FILES.find((one) => tree.isFile(join(at, one)))
    const namespace = namespaceOf(at === '' ? name : (at.split('/').at(-1) ?? name))
    if (bundle !== undefined) this.#enterFile(from, join(at, bundle))
    else if (plugin !== undefined) this.#plugin(from, at, join(at, plugin), namespace)
    else if (isPlain(tree, at))
      this.#add({ kind: 'plain', namespace, tree, directory: at, ownsFolders: true, fields: {}, body: '', top })
    else if (tree.isFile(join(at, MARKETPLACE)))
      this.#note(name, 'it is a list of plugins: name one of them with #subdirectory=')
    else this.#note(name, 'it has no bundle, no plugin and no skills')
  }

  /** The file of a directory, unless it was entered by its own name. */
  #enterFile(from: Step, file: string): void {
    const key = join(from.tree.root, file)
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.#amplifier(from, file, true)
  }

  /** `isRoot`: the file of a directory, to which its folders belong. */
  #amplifier({ tree, name, top, depth }: Step, file: string, isRoot: boolean): void {
    const text = tree.read(file)
    if (text === undefined) this.#note(name, `${file} can't be read, or is too large`)
    const { yaml } = this.walk
    const { fields, body, fault } = file.endsWith('.md')
      ? yaml.front(text ?? '')
      : { ...yaml.yaml(text ?? ''), body: '' }
    if (fault !== undefined) this.#note(name, `${file}: ${fault}`)
    const directory = isRoot ? parentOf(file) : rootOf(tree, file)
    const namespace = namespaceOf(textIn(objectIn(fields, 'bundle'), 'name') ?? name)
    this.#claim(namespace, tree, directory)
    // Files of a bundle use the name of its root.
    for (const at of new Set([directory, ''])) {
      const rootName = this.#nameOfRoot(tree, at)
      if (rootName !== undefined) this.#claim(rootName, tree, at)
    }
    const inner = { tree, name: namespace, top, depth: depth + 1 }
    for (const include of listIn(fields, 'includes').slice(0, SESSION_BUNDLE_UNITS_MAX)) {
      const address = typeof include === 'string' ? include : textIn(include, 'bundle')
      if (address === undefined) this.#note(namespace, `${file}: an include names no bundle`)
      else if (depth >= SESSION_BUNDLE_DEPTH_MAX)
        this.#note(namespace, `${address} is not included: more than ${SESSION_BUNDLE_DEPTH_MAX} levels`)
      else this.#include(inner, file, address.trim())
    }
    for (const address of skillSources(fields)) this.#fetched(inner, address)
    this.#add({ kind: 'amplifier', namespace, tree, directory, ownsFolders: isRoot, fields, body, top })
  }

  #nameOfRoot(tree: Tree, directory: string): string | undefined {
    const key = join(tree.root, directory)
    if (!this.#rootNames.has(key)) this.#rootNames.set(key, this.#readNameOfRoot(tree, directory))
    return this.#rootNames.get(key)
  }

  #readNameOfRoot(tree: Tree, directory: string): string | undefined {
    const file = BUNDLE_FILES.map((one) => join(directory, one)).find((one) => tree.isFile(one))
    const text = file === undefined ? undefined : tree.read(file)
    if (file === undefined || text === undefined) return undefined
    const { yaml } = this.walk
    const { fields } = file.endsWith('.md') ? yaml.front(text) : yaml.yaml(text)
    const name = textIn(objectIn(fields, 'bundle'), 'name')
    return name === undefined ? undefined : namespaceOf(name)
  }

  #include(from: Step, file: string, address: string): void {
    const { tree, name } = from
    const [, space = '', path = ''] = NAMESPACED.exec(address) ?? []
    if (space !== '') {
      const target = this.walk.namespaces.get(space)
      if (target !== undefined) this.#enterIn({ ...from, tree: target.tree, name: space }, join(target.directory, path))
      else if (!SATISFIED_NAMES.has(space)) this.#note(name, `${address}: there is no bundle "${space}"`)
    } else if (/^\.{1,2}\//.test(address)) this.#enterIn({ ...from, tree }, join(dirname(file), address))
    else if (!SATISFIED_NAMES.has(address)) this.#fetched(from, address)
  }

  #fetched({ name, top, depth }: Step, address: string): void {
    const found = this.#lookup(address)
    if (found === undefined) {
      if (this.walk.wanted.length < SESSION_BUNDLE_UNITS_MAX) this.walk.wanted.push(address)
    } else if (found === 'satisfied') return
    else if ('refused' in found) this.#note(name, `${address} is not included: ${found.refused}`)
    else this.enter(found, top, depth)
  }

  #plugin({ tree, top }: Step, directory: string, file: string, fallback: string): void {
    let fields: Record<string, unknown> = {}
    try {
      const value: unknown = JSON.parse(tree.read(file) ?? '')
      if (isObject(value)) fields = value
    } catch {
      this.#note(fallback, `${file} is no JSON`)
    }
    const namespace = namespaceOf(textIn(fields, 'name') ?? fallback)
    this.#add({ kind: 'plugin', namespace, tree, directory, ownsFolders: true, fields, body: '', top })
  }

  #add(unit: BundleUnit): void {
    this.#claim(unit.namespace, unit.tree, unit.directory)
    this.walk.units.push(unit)
  }

  #claim(namespace: string, tree: Tree, directory: string): void {
    if (!this.walk.namespaces.has(namespace)) this.walk.namespaces.set(namespace, { tree, directory })
  }

  #note(bundle: string, what: string): void {
    if (this.walk.notes.some((one) => one.bundle === bundle && one.what === what)) return
    this.walk.notes.push({ bundle, kind: 'faulty', what })
  }
}

/** They describe the runtime of another platform: its loop and its tools. */
const SATISFIED_NAMES = new Set(['foundation', 'core', 'amplifier', 'amplifier-foundation', 'amplifier-core'])

/** For an address in a bundle. A resolver that names one of them itself gets it. */
export function isSatisfied(address: string): boolean {
  return /\/amplifier-(?:foundation|core)(?:\.git)?(?:[@#]|$)/.test(address)
}

/** A namespace is shown to a model and parsed from its calls. */
function namespaceOf(name: string): string {
  return name.replace(/[^\w.-]+/g, '-').slice(0, 64) || 'bundle'
}

function parentOf(file: string): string {
  const parent = dirname(file)
  return parent === '.' ? '' : parent
}

/** The nearest directory above with a bundle of its own; else the whole tree. */
function rootOf(tree: Tree, file: string): string {
  for (let at = parentOf(file); at !== ''; at = parentOf(at))
    if (BUNDLE_FILES.some((one) => tree.isFile(join(at, one)))) return at
  return ''
}

/** The tool of skills of another platform takes addresses of folders. */
function skillSources(fields: Record<string, unknown>): string[] {
  return listIn(fields, 'tools')
    .filter((tool) => textIn(tool, 'module') === 'tool-skills')
    .flatMap((tool) => listIn(objectIn(tool, 'config'), 'skills'))
    .filter((address): address is string => typeof address === 'string' && /^(?:git\+)?https:\/\//.test(address))
}

/** Skills, agents or advice, without a file that describes them. */
function isPlain(tree: Tree, at: string): boolean {
  const holds = ['skills', 'agents'].some((folder) => tree.isDirectory(join(at, folder)))
  if (holds || ['SKILL.md', 'AGENTS.md'].some((file) => tree.isFile(join(at, file)))) return true
  return tree.names(at).some((name) => tree.isFile(join(at, name, 'SKILL.md')))
}
