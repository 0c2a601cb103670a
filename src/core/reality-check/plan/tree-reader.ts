/** Reads manifests of untrusted sources for the detection: each file once, within bounds, parsed or refused with a sentence. */
import { parse as parseToml } from 'smol-toml'
import { CHECK_MANIFEST_DEPTH, CHECK_MANIFEST_MAX_BYTES } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { isWithinDepth } from '../../primitives/json-depth.ts'
import { PlanFault } from './found.ts'
import type { SourceEntry, SourceTree } from './source-tree.ts'

type Table = Record<string, unknown>

export class TreeReader {
  readonly #tree: SourceTree
  readonly #below: string
  readonly #listings = new Map<string, Promise<SourceEntry[]>>()

  /** `below` is the directory of the sources that all paths are relative to. */
  constructor(tree: SourceTree, below = '') {
    this.#tree = tree
    this.#below = below
  }

  list(directory = ''): Promise<SourceEntry[]> {
    const path = this.#at(directory)
    if (path === undefined) return Promise.resolve([])
    const listing = this.#listings.get(path) ?? this.#tree.list(path)
    this.#listings.set(path, listing)
    return listing
  }

  async files(directory = ''): Promise<string[]> {
    return (await this.list(directory)).filter(({ kind }) => kind === 'file').map(({ name }) => name)
  }

  async directories(directory = ''): Promise<string[]> {
    return (await this.list(directory)).filter(({ kind }) => kind === 'directory').map(({ name }) => name)
  }

  async has(path: string, kind: SourceEntry['kind'] = 'file'): Promise<boolean> {
    const parts = path.split('/')
    const name = parts.pop()
    return (await this.list(parts.join('/'))).some((entry) => entry.name === name && entry.kind === kind)
  }

  /** The first of the paths that is a file. */
  async firstOf(paths: readonly string[]): Promise<string | undefined> {
    for (const path of paths) if (await this.has(path)) return path
    return undefined
  }

  /** A text that only helps to decide; empty where there is none that can be read. */
  async text(path: string, maxBytes = CHECK_MANIFEST_MAX_BYTES): Promise<string> {
    const at = this.#at(path)
    return at === undefined || !(await this.has(path)) ? '' : ((await this.#tree.read(at, maxBytes)) ?? '')
  }

  /** The object of a JSON file; undefined where there is no such file. */
  json(path: string, maxBytes?: number): Promise<Table | undefined> {
    return this.#parsed(path, 'JSON', (text) => JSON.parse(text), maxBytes)
  }

  toml(path: string, maxBytes?: number): Promise<Table | undefined> {
    return this.#parsed(path, 'TOML', parseToml, maxBytes)
  }

  async #parsed(
    path: string,
    format: string,
    parse: (text: string) => unknown,
    maxBytes = CHECK_MANIFEST_MAX_BYTES,
  ): Promise<Table | undefined> {
    const at = this.#at(path)
    if (at === undefined || !(await this.has(path))) return undefined
    const text = await this.#tree.read(at, maxBytes)
    if (text === undefined) throw new PlanFault(`${path} has more than ${maxBytes} bytes: give a smaller file.`)
    const value = parsedOr(text.replace(/^\uFEFF/, ''), parse)
    if (!isObject(value)) throw new PlanFault(`${path} is not an object in ${format}: correct the file.`)
    if (!isWithinDepth(value, CHECK_MANIFEST_DEPTH))
      throw new PlanFault(`${path} nests deeper than ${CHECK_MANIFEST_DEPTH} levels: give a flatter file.`)
    return value
  }

  /** The path in the whole tree; undefined for one that leads out of it. */
  #at(path: string): string | undefined {
    const joined = [this.#below, path].filter(Boolean).join('/')
    const parts = joined.split('/')
    const isOutside = joined !== '' && parts.some((part) => part === '' || part === '.' || part === '..')
    return isOutside || /[\0\\]/.test(joined) ? undefined : joined
  }
}

function parsedOr(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

export const table = (value: unknown): Table => (isObject(value) ? value : {})
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined
export const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : []
