/**
 * Takes the five operations that promotion uses out of GitHub's official description, for the tests of GitHub's double. Run by hand when the
 * description is to be renewed: `npm i --prefix <folder> @octokit/openapi@23.0.2`, then
 * `node scripts/github-description.mjs <folder>/node_modules/@octokit/openapi`. The package has 385 MB unpacked, so it is no dependency.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const OPERATIONS = [
  ['/user', 'get'],
  ['/repos/{owner}/{repo}/pulls', 'get'],
  ['/repos/{owner}/{repo}/pulls', 'post'],
  ['/repos/{owner}/{repo}/pulls/{pull_number}', 'get'],
  ['/repos/{owner}/{repo}/pulls/{pull_number}', 'patch'],
]
const OUT = 'test/support/forges/github-description.json'

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('usage: node scripts/github-description.mjs <folder of @octokit/openapi>')
  process.exit(2)
}
const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const whole = JSON.parse(readFileSync(join(folder, 'generated/api.github.com.json'), 'utf8'))

const components = {}
const paths = {}
for (const [path, method] of OPERATIONS) {
  const { operationId, parameters, requestBody, responses } = whole.paths[path][method]
  paths[path] = { ...paths[path], [method]: bare({ operationId, parameters, requestBody, responses }) }
}
const text = JSON.stringify({
  openapi: whole.openapi,
  info: {
    title: `Five operations of ${whole.info.title}`,
    version: `@octokit/openapi ${version}`,
    license: whole.info.license,
    'x-licence-note': 'MIT, Copyright (c) GitHub (github/rest-api-description) and the Octokit contributors',
  },
  paths,
  components,
})
writeFileSync(OUT, `${text}\n`)
console.log(`${OUT}: ${text.length} bytes`)

/** Without examples, descriptions and links; what it refers to goes to `components`. */
function bare(value) {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== 'object' || value === null) return value
  if (typeof value.$ref === 'string') keep(value.$ref)
  const kept = Object.entries(value).filter(([key, inner]) => !isTalk(key, inner))
  return Object.fromEntries(kept.map(([key, inner]) => [key, bare(inner)]))
}

/** A property of a schema may have such a name too; then its value is a schema. */
function isTalk(key, inner) {
  if (['example', 'examples', 'externalDocs'].includes(key))
    return !(typeof inner === 'object' && inner !== null && 'type' in inner)
  if (['description', 'title'].includes(key)) return typeof inner === 'string'
  return key.startsWith('x-')
}

function keep(ref) {
  const [kind, name] = ref.replace('#/components/', '').split('/')
  if (components[kind]?.[name] !== undefined) return
  components[kind] ??= {}
  components[kind][name] = {}
  components[kind][name] = bare(whole.components[kind][name])
}
