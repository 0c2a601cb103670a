/** Data files as a tree of folders, narrowed by a filter. Names come from resolvers: any of them may be a key of an object. Pure. */
import type { DataFile } from '../../../../core/protocol/instance.ts'

export interface Folder {
  /** Its path with "/" at the end; "" for the top. */
  path: string
  name: string
  folders: Folder[]
  files: DataFile[]
}

/** Files that are drawn; a filter finds the others. */
export const FILES_SHOWN_MAX = 1_000

export interface Tree {
  top: Folder
  /** How many files fit the filter. */
  found: number
}

/** The words of the filter may be anywhere in the path, in any order, in any case. */
export function treeOf(files: readonly DataFile[], filter: string): Tree {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const fitting = files.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word)))
  const top: Folder = { path: '', name: '', folders: [], files: [] }
  const known = new Map<string, Folder>([['', top]])
  for (const file of fitting.slice(0, FILES_SHOWN_MAX)) {
    folderAt(known, file.path.slice(0, file.path.lastIndexOf('/') + 1)).files.push(file)
  }
  return { top: sorted(top), found: fitting.length }
}

function folderAt(known: Map<string, Folder>, path: string): Folder {
  const missing: string[] = []
  for (let at = path; !known.has(at); at = parentOf(at)) missing.push(at)
  for (const one of missing.reverse()) {
    const parent = known.get(parentOf(one)) as Folder
    const folder: Folder = { path: one, name: one.slice(parent.path.length, -1), folders: [], files: [] }
    parent.folders.push(folder)
    known.set(one, folder)
  }
  return known.get(path) as Folder
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)
}

function sorted(folder: Folder): Folder {
  const { folders, files } = folder
  folders.sort((one, other) => compare(one.name, other.name))
  files.sort((one, other) => compare(one.path, other.path))
  for (const inner of folders) sorted(inner)
  return folder
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** The name of a file in its folder. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
