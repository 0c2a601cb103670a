/** Results of reality checks for the tests of the reports: calm ones, and one in which every text is hostile. */
import type { CheckResult, TestResult } from '../../../src/core/protocol/check/reality-check.ts'

export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export const HOSTILE =
  '</pre></li><script>window.ran=1</script><img src="http://127.0.0.1:1/x" onerror="window.ran=1">]]>&<!--\n::set-output name=a::b\r\n::error::x\r##[error]y\u2028# Heading\n[a](javascript:alert(1)) @octocat \u0000\u001b[31m\ud800\udc00\ud800 \ufffe\u202e`{{ secrets.X }}` | cell |'

export function testResult(status: TestResult['status'], over: Partial<TestResult> = {}): TestResult {
  return {
    id: 'a3f2b1c4',
    test: `A note that ${status}`,
    validator: 'http',
    status,
    evidence: ['GET /api/notes answered 200'],
    screenshots: [],
    observations: ['observations/1.json'],
    trace: null,
    reason: status === 'passed' ? null : `Why it ${status}`,
    mode: status === 'missing' ? 'infrastructure' : null,
    duration_ms: 1_234.5,
    ...over,
  }
}

export function checkOf(tests: readonly TestResult[], over: Partial<CheckResult> = {}): CheckResult {
  const [passed, failures, missing] = (['passed', 'failed', 'missing'] as const).map((status) =>
    tests.filter((test) => test.status === status),
  ) as [TestResult[], TestResult[], TestResult[]]
  const isPass = passed.length === tests.length
  return {
    session_id: 'c0ffee',
    status: 'completed',
    verdict: isPass ? 'pass' : passed.length > 0 ? 'partial' : 'fail',
    failure_mode: isPass ? null : 'software',
    software: 'https://example.org/notes.git',
    artifact_paths: ['report.json'],
    error: null,
    ...over,
    report: {
      summary: 'Notes are kept, but not all of them',
      statistics: {
        total: tests.length,
        passed: passed.length,
        failed: failures.length,
        missing: missing.length,
        pass_rate: `${passed.length}/${tests.length}`,
      },
      passed,
      failures,
      missing,
      assumptions: ['Notes are texts'],
      stage: 'done',
      plan: {
        language: 'node',
        type: 'web_app',
        fetch: { command: 'npm ci --ignore-scripts', files: ['package-lock.json'] },
        install: 'npm ci --offline',
        build: null,
        start: 'npm start',
        workdir: '.',
        port: 3000,
        port_given: false,
        env: { NODE_ENV: 'production' },
        because: ['package.json scripts.start'],
      },
      commit: 'f8b83b21',
      durations: { clone: 36, build: 2_000, tests: 61_000 },
      log_tail: 'listening on 3000',
      kept: null,
      ...over.report,
    },
  }
}

export function hostileCheck(): CheckResult {
  const hostile = (status: TestResult['status'], id: string) =>
    testResult(status, {
      id,
      test: HOSTILE,
      reason: HOSTILE,
      evidence: [HOSTILE, 'é'.repeat(5_000)],
      screenshots: [HOSTILE, 'screenshots/a.png'],
    })
  const one = checkOf([hostile('failed', HOSTILE), hostile('missing', 'b'), hostile('passed', 'c')])
  const { report } = one
  return {
    ...one,
    software: HOSTILE,
    error: HOSTILE,
    report: {
      ...report,
      summary: HOSTILE,
      assumptions: [HOSTILE],
      log_tail: HOSTILE.repeat(1_000),
      durations: { [HOSTILE]: Number.NaN },
      plan: { ...report.plan!, start: HOSTILE, because: [HOSTILE] },
    },
  }
}

/** Nothing was judged: there is no verdict and no test. */
export function withoutVerdict(): CheckResult {
  const one = checkOf([], {
    status: 'failed',
    verdict: null,
    failure_mode: 'config',
    error: 'No way to start it was found',
  })
  return { ...one, report: { ...one.report, stage: 'plan', plan: null, summary: 'There is no verdict' } }
}
