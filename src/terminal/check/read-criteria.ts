/** Reads a file of acceptance criteria: JSON, YAML in the schema of acceptance tests, a feature spec, or plain language. `check run` calls it. */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseDocument } from 'yaml'
import { fail } from '../../core/errors.ts'
import { checksOf } from '../../core/feature-spec/checks-of.ts'
import { parseFeatureSpec } from '../../core/feature-spec/parse-feature-spec.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { parseCriteria } from '../../core/reality-check/wish/parse-wish.ts'

const ALIASES_MAX = 100
/** The headings that a feature spec begins with, in any case. */
const FEATURE_SPEC = /^#{1,6}\s*(?:1[.)]\s*)?feature intent\s*$/im

/** The criteria as the request holds them. Throws `check_invalid`, and the system's error where the file cannot be read. */
export async function readCriteria(file: string): Promise<string | Record<string, unknown>> {
  const content = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  const criteria = criteriaIn(content, extname(file).toLowerCase())
  parseCriteria(criteria)
  return criteria
}

function criteriaIn(content: string, extension: string): string | Record<string, unknown> {
  if (FEATURE_SPEC.test(content)) {
    const { spec } = parseFeatureSpec(content)
    if (spec !== null) return { ...checksOf(spec) }
  }
  const isData = ['.json', '.yaml', '.yml'].includes(extension) || content.trimStart().startsWith('{')
  if (!isData) return content
  const value = valueIn(content)
  if (isObject(value)) return value
  if (Array.isArray(value)) return { tests: value }
  throw fail('check_invalid', { reason: 'the criteria are no object with "spec", "checks" or "tests"' })
}

function valueIn(content: string): unknown {
  const document = parseDocument(content, { logLevel: 'silent', uniqueKeys: true })
  const [fault] = document.errors
  if (fault !== undefined)
    throw fail('check_invalid', { reason: `the criteria cannot be read: ${fault.message.split('\n')[0]}` })
  return document.toJS({ maxAliasCount: ALIASES_MAX })
}
