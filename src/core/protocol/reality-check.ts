/**
 * Reality checks: what is checked, how, what was observed, and the verdict (spec, Reality check; docs/reality-check.md). The host, the validator, the
 * reports and the page share these shapes.
 */

export type Verdict = 'pass' | 'fail' | 'partial' | null

/** Why a check did not pass. null with `pass` only. */
export type FailureMode = 'software' | 'infrastructure' | 'config' | 'timeout' | 'cancelled' | null

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

/** What kind of software it is. Of a `cli_tool` and a `library` nothing is started. */
export type SoftwareType = 'web_app' | 'api_service' | 'cli_tool' | 'library'

/** How the software is built and started. */
export interface CheckPlan {
  language: 'node' | 'python' | 'go' | 'rust' | 'java' | 'static' | 'docker' | 'none'
  type: SoftwareType
  /** Fetches what it depends on without running anybody's script; null: nothing to fetch. */
  fetch: { command: string; files: string[] } | null
  install: string | null
  build: string | null
  /** null for a `cli_tool` and a `library`. */
  start: string | null
  /** Below the root of the sources. */
  workdir: string
  /** null: the first port that answers HTTP. */
  port: number | null
  /** Whether the port was given by the request, so that another one is a fault of the request. */
  port_given: boolean
  env: Record<string, string>
  /** The files and fields that it follows from: `package.json scripts.start`. */
  because: string[]
}

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

export type TestStatus = 'passed' | 'failed' | 'missing'

/** What became of a test. */
export interface TestResult {
  id: string
  /** Its description. */
  test: string
  validator: 'http' | 'cli' | 'browser' | 'session'
  status: TestStatus
  /** Sentences, at most 2 KiB each. */
  evidence: string[]
  /** Names of files of the check, such as `screenshots/a3f2b1c4.png`. */
  screenshots: string[]
  /** Names of files with what was observed. */
  observations: string[]
  trace: string | null
  /** Why it failed or is missing; null where it passed. */
  reason: string | null
  /** Why it is missing. */
  mode: Exclude<FailureMode, null> | null
  duration_ms: number
}

/** Where a check ended. */
export type Stage = 'request' | 'clone' | 'plan' | 'dependencies' | 'build' | 'start' | 'intent' | 'tests' | 'done'

export interface CheckReport {
  /** One sentence. */
  summary: string
  statistics: { total: number; passed: number; failed: number; missing: number; pass_rate: string }
  passed: TestResult[]
  failures: TestResult[]
  missing: TestResult[]
  assumptions: string[]
  stage: Stage
  plan: CheckPlan | null
  commit: string | null
  durations: Record<string, number>
  /** The end of what the software, or the stage that failed, printed. */
  log_tail: string
  kept: { dtu_id: string; expires_at: string } | null
}

export interface CheckResult {
  session_id: string
  status: 'completed' | 'failed' | 'cancelled'
  verdict: Verdict
  failure_mode: FailureMode
  software: string
  report: CheckReport
  /** Below the directory of the check. */
  artifact_paths: string[]
  /** What ended it where there is no verdict. */
  error: string | null
}
