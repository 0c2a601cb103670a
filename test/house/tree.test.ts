/** Holds what may stand in the tracked files: nothing of one machine, nothing of one registry. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './source-files.ts'

const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)

function linesWith(pattern: RegExp, files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const lines = readTextOf(file).split('\n')
    return lines.flatMap((line, index) =>
      pattern.test(line) ? [`${file}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
    )
  })
}

function readTextOf(file: string): string {
  try {
    const bytes = readFileSync(join(root, file))
    return bytes.includes(0) ? '' : bytes.toString('utf8')
  } catch {
    // Tracked, but taken away in the work tree.
    return ''
  }
}

test('no tracked file names a path of one machine', () => {
  const machine = new RegExp(['work', 'farm', 'root', 'Users'].map((name) => `(?:^|[\\s"'\`(=:])/${name}/`).join('|'))
  expect(linesWith(machine, tracked)).toEqual([])
})

test('the locks name no registry: every package is found by name and checked by its hash', () => {
  const locks = tracked.filter((file) => file.endsWith('package-lock.json'))
  expect(locks.length).toBe(2)
  expect(linesWith(/"resolved":/, locks)).toEqual([])
})

test('the lock holds every optional package that it mentions, so that npm ci accepts it on any machine', () => {
  for (const lock of ['package-lock.json', 'tools/node24/package-lock.json']) {
    const { packages } = JSON.parse(readFileSync(join(root, lock), 'utf8')) as { packages: Packages }
    expect({ lock, missing: missingOptional(packages) }).toEqual({ lock, missing: [] })
  }
})

type Packages = Record<string, { optionalDependencies?: Record<string, string> }>

function missingOptional(packages: Packages): string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !placesOf(path, name).some((place) => place in packages))
      .map((name) => `${path} → ${name}`),
  )
}

/** Where Node would look for a package from a place in node_modules: there, and in every folder above. */
function placesOf(path: string, name: string): string[] {
  const places = [`${path === '' ? '' : `${path}/`}node_modules/${name}`]
  if (path === '') return places
  const above = path.lastIndexOf('/node_modules/')
  return [...places, ...placesOf(above === -1 ? '' : path.slice(0, above), name)]
}
