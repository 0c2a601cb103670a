/** `<name>.resolver.yaml`: what is read of it, and what is refused, all at once. */
import { expect, test } from 'vitest'
import { derivedManifest } from '../../src/pipeline/form/derived-manifest.ts'
import { parseResolverFile } from '../../src/pipeline/form/resolver-file.ts'

const WHOLE = `
name: Code Review
description: |
  Reviews a change and
  says what is wrong.

  More of it.
pipeline: graphs/review.dot
workspace_repo_from: repo
secrets: [FORGE]
params:
  repo: { input: text, label: Repository, required: true }
  depth:
    input: choice
    options: [quick, { value: 2, label: Thorough }]
    default: 2
  notes: { input: longText, default: none }
`

test('a file is read whole, and its manifest follows from it', async () => {
  const { file } = await parseResolverFile(WHOLE, 'code_review.resolver.yaml')
  expect(file).toEqual({
    title: 'Code Review',
    description: 'Reviews a change and says what is wrong.',
    pipeline: 'graphs/review.dot',
    repositoryFrom: 'repo',
    params: [
      {
        id: 'repo',
        input: 'text',
        label: 'Repository',
        description: undefined,
        required: true,
        default: undefined,
        options: [],
      },
      {
        id: 'depth',
        input: 'choice',
        label: 'depth',
        description: undefined,
        required: false,
        default: '2',
        options: [
          { value: 'quick', label: 'quick' },
          { value: '2', label: 'Thorough' },
        ],
      },
      {
        id: 'notes',
        input: 'longText',
        label: 'notes',
        description: undefined,
        required: false,
        default: 'none',
        options: [],
      },
    ],
    manifest: { secrets: ['FORGE'] },
  })
  expect(file && derivedManifest(file, 'code_review.resolver.yaml')).toEqual({
    name: 'code-review',
    version: '1.0.0',
    description: 'Reviews a change and says what is wrong',
    command: [
      'node',
      '--input-type=module',
      '--eval',
      "import 'resolve-platform/pipeline'",
      'code_review.resolver.yaml',
    ],
    supports_resume: true,
    secrets: ['FORGE'],
  })
})

test('an empty mapping names the graph beside it', async () => {
  const { file } = await parseResolverFile('params: {}', 'review.resolver.yml')
  expect(file).toMatchObject({ title: 'review', description: 'review', pipeline: 'review.dot', params: [] })
})

test.each([
  ['params: [', /^Flow sequence|^Missing|at line 1/],
  ['- a', 'It must be a mapping with "pipeline" and "params".'],
  [
    'a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]',
    /^It can't be read: /,
  ],
  ['name: x\nname: y', /^Map keys must be unique/],
  ['pipeline: ../secret.dot', 'pipeline must be a path from this file, without "..".'],
  ['pipeline: /etc/passwd', 'pipeline must be a path from this file, without "..".'],
  ['params: x', 'params must be a mapping of names to fields.'],
  ['params: { "a b": {} }', 'params.a b must be named by letters, digits and "_".'],
  ['params: { a: 1 }', 'params.a must be a mapping.'],
  ['params: { a: { input: slider } }', 'params.a.input must be text, longText or choice.'],
  ['params: { a: { input: choice } }', 'params.a.options must be a list of choices.'],
  ['params: { a: { input: choice, options: [x], default: y } }', 'params.a.default must be one of its options.'],
  ['params: { a: { label: 3 } }', 'params.a.label must be a text.'],
  ['workspace_repo_from: repo', 'workspace_repo_from names "repo", which is no param.'],
])('%j is refused', async (text, problem) => {
  const { file, problems } = await parseResolverFile(text, 'x.resolver.yaml')
  expect(file).toBeUndefined()
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(problem)
})

test('every problem is told at once', async () => {
  const { problems } = await parseResolverFile(
    'pipeline: 3\nparams: { a: { input: x, options: y }, b: 1 }',
    'x.resolver.yaml',
  )
  expect(problems).toHaveLength(4)
})
