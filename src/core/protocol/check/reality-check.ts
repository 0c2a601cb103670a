/**
 * Reality checks: what is checked, how, what was observed, and the verdict (spec, Reality check; docs/reality-check.md). The host, the validator, the
 * reports and the page share these shapes.
 */

import {
  anyObject,
  count,
  flag,
  integer,
  listOf,
  named,
  nullable,
  number,
  object,
  oneOf,
  type Static,
  text,
} from '../../schema/schema.ts'

const verdict = nullable(oneOf(['pass', 'fail', 'partial']))
const mode = oneOf(['software', 'infrastructure', 'config', 'timeout', 'cancelled'])

export type Verdict = Static<typeof verdict>

/** Why a check did not pass. null with `pass` only. */
export type FailureMode = Static<typeof mode> | null

export type Lifecycle = 'auto' | 'keep' | 'destroy'

/** A request of the tests over HTTP, and what is expected of the answer (docs/reality-check.md, HTTP steps). */
export interface HttpStep {
  method: string
  /** Begins with one `/`; has no host. May hold `{{$uuid}}`, `{{$random}}` and `{{name}}` of an earlier capture. */
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  /** Sent as it is, or as JSON where it is no text. */
  body: unknown
  form: Record<string, string> | null
  /** Numbers, or classes such as `2xx`. Empty: any status below 500 is not demanded. */
  expected_status: (number | string)[]
  expected_body_contains: string[]
  expected_body_not_contains: string[]
  expected_body_matches: string | null
  expected_json: JsonExpectation[]
  /** Name to the text that its value contains. */
  expected_headers: Record<string, string>
  /** Name to the JSONPath of a value of the answer. */
  capture: Record<string, string>
  timeout_seconds: number
  retry: { attempts: number; interval: number } | null
  max_ms: number | null
  follow_redirects: boolean
}

export interface JsonExpectation {
  /** A JSONPath of RFC 9535. */
  path: string
  equals?: unknown
  contains?: string
  exists?: boolean
  matches?: string
  min?: number
  max?: number
}

/** A command of the tests, and what is expected of its end. A text runs by `sh -c`, a list as it is. */
export interface CommandStep {
  run: string | string[]
  stdin: string | null
  expected_exit_code: number | null
  expected_stdout_contains: string[]
  expected_stdout_not_contains: string[]
  expected_stdout_matches: string | null
  expected_stderr_contains: string[]
  timeout_seconds: number
}

/** How an element of a page is found: exactly one of these, `role` with or without `name`. */
export type BrowserTarget =
  | { role: string; name?: string }
  | { label: string }
  | { text: string }
  | { placeholder: string }
  | { test_id: string }
  | { css: string }

export type BrowserStep =
  | { verb: 'goto'; path: string }
  | { verb: 'click' | 'check' | 'uncheck'; target: BrowserTarget }
  | { verb: 'fill' | 'select'; target: BrowserTarget; value: string }
  | { verb: 'press'; target: BrowserTarget | null; key: string }
  | { verb: 'wait'; seconds: number }
  /** `state` of the target; `count` its number; `value` of its field. With none of them it is visible. */
  | { verb: 'expect'; target: BrowserTarget; state: 'visible' | 'hidden'; count: number | null; value: string | null }
  | { verb: 'expect_page'; url: string | null; title: string | null }

/** One step of a test. */
export type Step =
  /** Plain language: a session with a model carries it out. */
  | { kind: 'plain'; action: string; expect: string | null }
  | { kind: 'http'; http: HttpStep }
  | { kind: 'command'; command: CommandStep }
  | { kind: 'browser'; browser: BrowserStep }
  | { kind: 'restart' }

export interface AcceptanceTest {
  /** 8 hexadecimal digits, unique among the tests. */
  id: string
  description: string
  type: 'browser' | 'cli' | 'other'
  steps: Step[]
  /** The sentence of the spec that it was made from. */
  quote: string | null
}

/** What is known about the software beside its address. Nothing given: the plan finds it out. */
export interface CheckEnvironment {
  language: string | null
  type: string | null
  port: number | null
  image: string | null
  install: string | null
  build: string | null
  start: string | null
  workdir: string | null
  health: { path: string } | { command: string } | { log: string } | null
  env: Record<string, string>
  git: boolean
  start_seconds: number
  network: { build: 'public' | 'mirrors' | 'none'; run: 'none' | 'allowlist'; egress: string[] }
}

export interface Criteria {
  /** The plain-language criteria; null where there are only tests. */
  spec: string | null
  /** Concrete ones of `checks`, and those of `tests`. */
  tests: AcceptanceTest[]
  conversation: string | null
  software_description: string | null
  assumptions: string[]
  /** Whether tests are made from `spec` although there are some. */
  derive: boolean
}

/** A parsed request for a check. */
export interface CheckWish {
  software_path: string
  criteria: Criteria
  environment: CheckEnvironment
  dtu_lifecycle: Lifecycle
  timeout_seconds: number
  /** Asked twice with the same key it is one check. */
  key: string | null
}

const softwareType = oneOf(['web_app', 'api_service', 'cli_tool', 'library'])

/** What kind of software it is. Of a `cli_tool` and a `library` nothing is started. */
export type SoftwareType = Static<typeof softwareType>

const checkPlan = object({
  language: oneOf(['node', 'python', 'go', 'rust', 'java', 'static', 'docker', 'none']),
  type: softwareType,
  fetch: nullable(object({ command: text(), files: listOf(text()) }), {
    description: "Fetches what it depends on without running anybody's script; null: nothing to fetch",
  }),
  install: nullable(text()),
  build: nullable(text()),
  start: nullable(text(), { description: 'null for a `cli_tool` and a `library`' }),
  workdir: text({ description: 'Below the root of the sources' }),
  port: nullable(integer(), { description: 'null: the first port that answers HTTP' }),
  port_given: flag({
    description: 'Whether the port was given by the request, so that another one is a fault of the request',
  }),
  env: anyObject<string>({ additionalProperties: text() }),
  because: listOf(text(), { description: 'The files and fields that it follows from: `package.json scripts.start`' }),
})

/** How the software is built and started. */
export type CheckPlan = Static<typeof checkPlan>

/** What was seen when a step was carried out. Bodies and outputs are cut off at their limit. */
export type Observation =
  | {
      kind: 'http'
      method: string
      path: string
      request_body: string | null
      status: number | null
      headers: [string, string][]
      body: string
      truncated: boolean
      duration_ms: number
      /** Why there is no answer: `refused`, `timeout`, `reset`, `malformed`, `too_large`. */
      error: string | null
    }
  | {
      kind: 'command'
      command: string
      exit_code: number | null
      stdout: string
      stderr: string
      truncated: boolean
      timed_out: boolean
      duration_ms: number
    }
  | {
      kind: 'browser'
      /** The step as a sentence: `click button "Add"`. */
      step: string
      /** null where it could be carried out and what it expects was there. */
      error: string | null
      url: string
      title: string
      /** The accessible tree of the page, as text. */
      snapshot: string
      console: string[]
      duration_ms: number
    }
  | { kind: 'restart'; error: string | null; duration_ms: number }

const testStatus = oneOf(['passed', 'failed', 'missing'])

export type TestStatus = Static<typeof testStatus>

const testResult = object({
  id: text(),
  test: text({ description: 'Its description' }),
  validator: oneOf(['http', 'cli', 'browser', 'session']),
  status: testStatus,
  evidence: listOf(text(), { description: 'Sentences, at most 2 KiB each' }),
  screenshots: listOf(text(), { description: 'Names of files of the check, such as `screenshots/a3f2b1c4.png`' }),
  observations: listOf(text(), { description: 'Names of files with what was observed' }),
  trace: nullable(text()),
  reason: nullable(text(), { description: 'Why it failed or is missing; null where it passed' }),
  mode: nullable(mode, { description: 'Why it is missing' }),
  duration_ms: number(),
})

/** What became of a test. */
export type TestResult = Static<typeof testResult>

const stage = oneOf(['request', 'clone', 'plan', 'dependencies', 'build', 'start', 'intent', 'tests', 'done'])

/** Where a check ended. */
export type Stage = Static<typeof stage>

const checkReport = object({
  summary: text({ description: 'One sentence' }),
  statistics: object({ total: count(), passed: count(), failed: count(), missing: count(), pass_rate: text() }),
  passed: listOf(testResult),
  failures: listOf(testResult),
  missing: listOf(testResult),
  assumptions: listOf(text()),
  stage,
  plan: nullable(checkPlan),
  commit: nullable(text()),
  durations: anyObject<number>({ additionalProperties: number() }),
  log_tail: text({ description: 'The end of what the software, or the stage that failed, printed' }),
  kept: nullable(object({ dtu_id: text(), expires_at: text() })),
})

export type CheckReport = Static<typeof checkReport>

export const checkResult = named(
  'RealityCheck',
  object({
    session_id: text(),
    status: oneOf(['completed', 'failed', 'cancelled']),
    verdict,
    failure_mode: nullable(mode, { description: 'Why it did not pass; null with `pass` only' }),
    software: text(),
    report: checkReport,
    artifact_paths: listOf(text(), { description: 'Below the directory of the check' }),
    error: nullable(text(), { description: 'What ended it where there is no verdict' }),
  }),
  'What became of a reality check',
)

export type CheckResult = Static<typeof checkResult>
