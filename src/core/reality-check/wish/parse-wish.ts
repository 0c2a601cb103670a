/** Parses a request for a reality check from its JSON (spec, Reality check; R46; docs/reality-check.md, The request). Unknown fields are refused. Pure. */
import { fail } from '../../errors.ts'
import * as limits from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { CheckEnvironment, CheckWish, Criteria } from '../../protocol/check/reality-check.ts'
import { type Fields, WishFault } from './fault.ts'
import { readPath } from './http-step.ts'
import { readChecks, readTests, withIds } from './parse-tests.ts'
import {
  readChoice,
  readFlag,
  readList,
  readMap,
  readNumber,
  readObject,
  readOptionalText,
  readText,
  readTexts,
} from './read.ts'

const FIELDS = ['software_path', 'acceptance_criteria', 'environment', 'dtu_lifecycle', 'timeout_seconds', 'key']
const CRITERIA = ['spec', 'checks', 'tests', 'conversation', 'software_description', 'assumptions', 'derive']
/** What the tests of the original's files have beside them; read and not needed. */
const FILE_FIELDS = ['summary', 'software_type', 'entry_points']
const ENVIRONMENT = [
  ...['language', 'type', 'port', 'image', 'install', 'build', 'start', 'workdir', 'health', 'env', 'git'],
  ...['start_seconds', 'network'],
]
const COMMAND_MAX_CHARS = 4_096
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** Throws `check_invalid`. */
export function parseWish(value: unknown): CheckWish {
  return parsing(() => readWish(value))
}

/** The criteria alone: a text, or an object. Throws `check_invalid`. */
export function parseCriteria(value: unknown): Criteria {
  return parsing(() => readCriteria(value, 'acceptance_criteria'))
}

/** The environment alone. Throws `check_invalid`. */
export function parseEnvironment(value: unknown): CheckEnvironment {
  return parsing(() => readEnvironment(value))
}

function parsing<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof WishFault ? fail('check_invalid', { reason: error.reason }) : error
  }
}

function readWish(value: unknown): CheckWish {
  const fields = readObject(value, 'the request', FIELDS)
  const seconds = fields['timeout_seconds'] ?? limits.CHECK_LIMIT_MS / 1_000
  const key = readOptionalText(fields['key'], 'key', 200)
  return {
    software_path: readAddress(fields['software_path']),
    criteria: readCriteria(fields['acceptance_criteria'], 'acceptance_criteria'),
    environment: readEnvironment(fields['environment'] ?? {}),
    dtu_lifecycle: readChoice(fields['dtu_lifecycle'] ?? 'auto', 'dtu_lifecycle', ['auto', 'keep', 'destroy']),
    timeout_seconds: readNumber(seconds, 'timeout_seconds', { min: 1, max: limits.CHECK_LONGEST_MS / 1_000 }),
    key,
  }
}

function readAddress(value: unknown): string {
  const address = readText(value, 'software_path', 4_096).trim()
  if (address !== '' && !/\p{Cc}/u.test(address)) return address
  throw new WishFault('software_path', 'the address of a repository, or a path')
}

function readCriteria(value: unknown, where: string): Criteria {
  if (typeof value === 'string') return { ...NOTHING, spec: readSpec(value, where) }
  const fields = readObject(value, where, [...CRITERIA, ...FILE_FIELDS])
  const checks = readChecks(fields['checks'], `${where}.checks`)
  const tests = withIds([...checks, ...readTests(fields['tests'], `${where}.tests`)], `${where}.tests`)
  const { spec } = fields
  const isSpecGiven = spec !== undefined && spec !== null && spec !== ''
  if (!isSpecGiven && tests.length === 0)
    throw new WishFault(where, 'a text, or an object with "spec", "checks" or "tests"')
  const { assumptions } = fields
  return {
    spec: isSpecGiven ? readSpec(spec, `${where}.spec`) : null,
    tests,
    conversation: readOptionalText(fields['conversation'], `${where}.conversation`, limits.CHECK_SPEC_MAX_CHARS),
    software_description: readOptionalText(fields['software_description'], `${where}.software_description`),
    assumptions: assumptions === undefined ? [] : readTexts(assumptions, `${where}.assumptions`),
    derive: readFlag(fields['derive'], `${where}.derive`),
  }
}

const NOTHING: Criteria = {
  spec: null,
  tests: [],
  conversation: null,
  software_description: null,
  assumptions: [],
  derive: false,
}

function readSpec(value: unknown, where: string): string {
  const text = readText(value, where, limits.CHECK_SPEC_MAX_CHARS)
  if (text.trim() === '') throw new WishFault(where, 'a text that is not empty')
  return text
}

function readEnvironment(value: unknown): CheckEnvironment {
  const fields = readObject(value, 'environment', ENVIRONMENT)
  const at = (name: string) => `environment.${name}`
  const text = (name: string, max = COMMAND_MAX_CHARS) => {
    const read = readOptionalText(fields[name], at(name), max)
    return read === null || read.trim() === '' ? null : read
  }
  const { port, start_seconds: seconds = limits.CHECK_START_LIMIT_MS / 1_000 } = fields
  return {
    language: text('language', 64)?.toLowerCase() ?? null,
    type: text('type', 64),
    port: port === undefined || port === null ? null : readPort(port),
    image: text('image', 256),
    install: text('install'),
    build: text('build'),
    start: text('start'),
    workdir: readDirectory(text('workdir', 1_024)),
    health: readHealth(fields['health']),
    env: readMap(fields['env'], at('env'), VARIABLE),
    git: readFlag(fields['git'], at('git')),
    start_seconds: readNumber(seconds, at('start_seconds'), { min: 1, max: limits.CHECK_START_LONGEST_MS / 1_000 }),
    network: readNetwork(fields['network']),
  }
}

function readPort(value: unknown): number {
  const port = readNumber(value, 'environment.port', { min: 1, max: 65_535 })
  if (Number.isInteger(port)) return port
  throw new WishFault('environment.port', 'a whole number')
}

/** It stays below the sources. */
function readDirectory(path: string | null): string | null {
  if (path === null) return null
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (path.startsWith('/') || parts.includes('..'))
    throw new WishFault('environment.workdir', 'a path below the software')
  return parts.join('/')
}

function readHealth(value: unknown): CheckEnvironment['health'] {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return { path: readPath(value, 'environment.health') }
  const fields: Fields = isObject(value) ? value : {}
  const names = Object.keys(fields)
  const [name] = names
  if (names.length !== 1 || name === undefined) throw new WishFault('environment.health', 'a path, {command} or {log}')
  if (name === 'path') return { path: readPath(fields['path'], 'environment.health.path') }
  if (name === 'command')
    return { command: readText(fields['command'], 'environment.health.command', COMMAND_MAX_CHARS) }
  if (name === 'log') return { log: readText(fields['log'], 'environment.health.log', COMMAND_MAX_CHARS) }
  throw new WishFault('environment.health', 'a path, {command} or {log}')
}

function readNetwork(value: unknown): CheckEnvironment['network'] {
  const fields = readObject(value ?? {}, 'environment.network', ['build', 'run', 'egress'])
  const build = readChoice(fields['build'] ?? 'public', 'environment.network.build', ['public', 'mirrors', 'none'])
  const run = readChoice(fields['run'] ?? 'none', 'environment.network.run', ['none', 'allowlist'])
  const egress = readList(fields['egress'] ?? [], 'environment.network.egress', 100)
  return { build, run, egress: egress.map((rule) => readText(rule, 'environment.network.egress', 300)) }
}
