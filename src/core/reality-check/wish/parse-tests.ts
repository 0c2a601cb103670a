/** Reads the tests of a request: those of `tests`, with concrete or plain-language steps, and the seed's `checks` (docs/reality-check.md, Tests). Pure. */
import { hash } from 'node:crypto'
import { CHECK_STEPS_MAX, CHECK_TESTS_MAX } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { AcceptanceTest, Step } from '../../protocol/check/reality-check.ts'
import { BROWSER_VERBS, readBrowserStep } from './browser-step.ts'
import { readCommandStep } from './command-step.ts'
import { type Fields, WishFault } from './fault.ts'
import { readHttpStep } from './http-step.ts'
import { readChoice, readList, readObject, readOptionalText, readText } from './read.ts'

const DESCRIPTION_MAX_CHARS = 2_000
const ID = /^[0-9a-f]{8}$/

/** Each entry of `checks` is a test with one HTTP step. Throws a WishFault. */
export function readChecks(value: unknown, where: string): AcceptanceTest[] {
  if (value === undefined || value === null) return []
  return readList(value, where, CHECK_TESTS_MAX).map((entry, at) => {
    const { description, ...check } = isObject(entry) ? entry : { description: undefined }
    if (!isObject(entry)) throw new WishFault(`${where}[${at}]`, 'an object')
    const http = readHttpStep(check, `${where}[${at}]`)
    const told = readOptionalText(description, `${where}[${at}].description`, DESCRIPTION_MAX_CHARS)
    const steps: Step[] = [{ kind: 'http', http }]
    return {
      id: '',
      description: told ?? describeHttp(http.method, http.path, http.expected_status),
      type: 'other',
      steps,
      quote: null,
    }
  })
}

export function readTests(value: unknown, where: string): AcceptanceTest[] {
  if (value === undefined || value === null) return []
  return readList(value, where, CHECK_TESTS_MAX).map((entry, at) => readTest(entry, `${where}[${at}]`))
}

/** Ids that are missing are made from the content, so that the same tests have the same ids; twice the same id is a fault. */
export function withIds(tests: readonly AcceptanceTest[], where: string): AcceptanceTest[] {
  if (tests.length > CHECK_TESTS_MAX) throw new WishFault(where, `at most ${CHECK_TESTS_MAX} tests`)
  const taken = new Set<string>()
  for (const { id } of tests) {
    if (id !== '' && taken.has(id)) throw new WishFault(where, `tests with ids of their own: ${id} is there twice`)
    taken.add(id)
  }
  return tests.map((test) => {
    if (test.id !== '') return test
    for (let n = 0; ; n += 1) {
      const id = hash('sha256', `${n} ${JSON.stringify(test)}`).slice(0, 8)
      if (taken.has(id)) continue
      taken.add(id)
      return { ...test, id }
    }
  })
}

function readTest(value: unknown, where: string): AcceptanceTest {
  const fields = readObject(value, where, ['id', 'description', 'type', 'steps', 'quote'])
  const id = fields['id'] === undefined ? '' : readText(String(fields['id']), `${where}.id`)
  if (id !== '' && !ID.test(id)) throw new WishFault(`${where}.id`, '8 digits 0-9 a-f')
  const steps = readList(fields['steps'], `${where}.steps`, CHECK_STEPS_MAX)
  if (steps.length === 0) throw new WishFault(`${where}.steps`, 'a list of at least one step')
  const read = steps.map((step, at) => readStep(step, `${where}.steps[${at}]`))
  const type = readChoice(fields['type'] ?? typeOf(read), `${where}.type`, ['browser', 'cli', 'other'])
  const description = readText(fields['description'], `${where}.description`, DESCRIPTION_MAX_CHARS)
  return { id, description, type, steps: read, quote: readOptionalText(fields['quote'], `${where}.quote`) }
}

function typeOf(steps: readonly Step[]): AcceptanceTest['type'] {
  if (steps.some(({ kind }) => kind === 'browser')) return 'browser'
  return steps.some(({ kind }) => kind === 'command') ? 'cli' : 'other'
}

function readStep(value: unknown, where: string): Step {
  if (typeof value === 'string') return { kind: 'plain', action: readText(value, where), expect: null }
  const fields: Fields = isObject(value) ? value : {}
  if ('http' in fields) {
    readObject(fields, where, ['http'])
    return { kind: 'http', http: readHttpStep(fields['http'], `${where}.http`) }
  }
  if ('run' in fields) return { kind: 'command', command: readCommandStep(fields, where) }
  if ('restart' in fields) {
    readObject(fields, where, ['restart'])
    readChoice(fields['restart'], `${where}.restart`, ['software'])
    return { kind: 'restart' }
  }
  if ('action' in fields) {
    readObject(fields, where, ['action', 'expect'])
    const expect = readOptionalText(fields['expect'], `${where}.expect`)
    return { kind: 'plain', action: readText(fields['action'], `${where}.action`), expect }
  }
  const verb = BROWSER_VERBS.find((name) => name in fields)
  if (verb !== undefined) return { kind: 'browser', browser: readBrowserStep(verb, fields, where) }
  throw new WishFault(where, `a text, or an object with one of action, http, run, restart, ${BROWSER_VERBS.join(', ')}`)
}

function describeHttp(method: string, path: string, status: readonly (number | string)[]): string {
  return `${method} ${path}${status.length === 0 ? '' : ` answers ${status.join(' or ')}`}`
}
