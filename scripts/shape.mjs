/** Prints the shape of the sources: for src and each room the number of files, their lines, and the imports that cross a room. `node scripts/shape.mjs [root]`. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))
const IMPORT = /(?:\bfrom|\bimport\(|\bimport)\s*'(\.[^']+)'/g

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => {
    const path = join('src', name)
    const text = readFileSync(join(root, path), 'utf8')
    const imports = [...text.matchAll(IMPORT)].map(([, target = '']) =>
      relative(root, resolve(root, dirname(path), target)),
    )
    return { path, folder: dirname(path), lines: text.split('\n').length - 1, imports }
  })

/** The nearest-rank percentile of sorted numbers. */
const percentile = (sorted, part) => sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? 0

function row(name, inside) {
  const lines = inside.map((file) => file.lines).sort((a, b) => a - b)
  const folders = Map.groupBy(inside, (file) => file.folder)
  const crossing = inside.flatMap(({ folder, imports }) => imports.filter((target) => dirname(target) !== folder))
  return {
    room: name,
    files: inside.length,
    lines: lines.reduce((sum, count) => sum + count, 0),
    median: percentile(lines, 0.5),
    p90: percentile(lines, 0.9),
    largest: lines.at(-1) ?? 0,
    'most files in a folder': Math.max(...[...folders.values()].map((list) => list.length)),
    'imports across folders': crossing.length,
  }
}

const rooms = [
  ...new Set(
    files.map(({ folder }) =>
      folder
        .split('/')
        .slice(0, folder.startsWith('src/core') ? 3 : 2)
        .join('/'),
    ),
  ),
]
const rows = [row('src', files)]
for (const room of rooms.sort())
  rows.push(
    row(
      room,
      files.filter(({ path }) => path.startsWith(`${room}/`) || dirname(path) === room),
    ),
  )
console.table(rows)
