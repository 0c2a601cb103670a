/** Holds docs/pipelines.md against the code: its examples may run, and its tables list every handler and every rule. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkPipeline } from '../../src/pipeline/check/check.ts'
import { HANDLERS, shapesOf } from '../../src/pipeline/language/handlers.ts'

const root = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs/pipelines.md'), 'utf8')

const examples = [...page.matchAll(/^```dot\n([\s\S]*?)^```$/gm)].map(([, source = '']) => source)

test('every example of the page may run, without a warning', () => {
  expect(examples.length).toBeGreaterThan(5)
  for (const source of examples) {
    const { diagnostics } = checkPipeline(source)
    expect({ source, found: diagnostics.filter(({ severity }) => severity !== 'info') }).toEqual({ source, found: [] })
  }
})

test('the page lists every handler with its shape, and no other', () => {
  const [, section = ''] = page.split('\n## Nodes\n')
  const listed = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([\w.]+)` \| `(\w+)`/gm)].map(
    ([, name, shape]) => `${name} ${shape}`,
  )
  const known = (Object.keys(HANDLERS) as (keyof typeof HANDLERS)[]).map((name) => `${name} ${shapesOf(name)[0]}`)
  expect(listed.toSorted()).toEqual(known.toSorted())
})

test('the page lists every rule', () => {
  const [, section = ''] = page.split('\n## Checks\n')
  const [table = ''] = section.split('\n## ')
  const listed = new Set([...table.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map(([, rule]) => rule))
  const folders = ['check', 'files'].map((name) => join(root, 'src/pipeline', name))
  const source = folders
    .flatMap((folder) => readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8')))
    .join('\n')
  const made = [
    ...source.matchAll(/(?:\b(?:error|warning|advice|make|tell)\(\s*(?:[\w.]+, )*|rule: )'([a-z]+(?:_[a-z]+)+)'/g),
  ].map(([, rule]) => rule)
  expect(new Set(made).size).toBeGreaterThan(25)
  expect([...new Set(made)].filter((rule) => !listed.has(rule))).toEqual([])
})
