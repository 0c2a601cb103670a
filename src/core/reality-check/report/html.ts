/** The result of a reality check as one HTML file: no script, nothing loaded, pictures inside. Called by the command line, the server and when a check writes its files. */
import {
  CHECK_REPORT_ENTRIES_MAX,
  CHECK_REPORT_HTML_MAX_BYTES,
  CHECK_REPORT_HTML_TEXT_MAX_BYTES,
  CHECK_REPORT_LIST_MAX,
  CHECK_REPORT_LOG_MAX_BYTES,
} from '../../limits.ts'
import type { CheckResult, TestResult } from '../../protocol/check/reality-check.ts'
import { STYLE } from './html-style.ts'
import { durationText, evidenceOf, fitEnd, fitLine, fitText, testsOf, withinBytes } from './outside-text.ts'
import { durationsOf, factsOf, planFactsOf, STATUS_WORDS, VERDICT_WORDS, verdictKey } from './words.ts'

const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

/** `pictures` gives the bytes of a picture by its name. One that would make the file too large, or is no picture, is left out, and the report says so. */
export function htmlOf(result: CheckResult, pictures: (name: string) => Buffer | undefined): string {
  const tests = testsOf(result)
  // The text of the tests has its own share, so that a large picture takes no test's place.
  const { text: shown, left } = withinBytes(partsOf(tests), tests.length, CHECK_REPORT_HTML_TEXT_MAX_BYTES)
  const items = shown.split(PLACE).slice(0, -1)
  const pageOf = (figures: readonly string[]) =>
    page(result, items.map((item, at) => `${item}${figures[at] ?? ''}</li>`).join(''), left)
  const budget = { bytes: CHECK_REPORT_HTML_MAX_BYTES - Buffer.byteLength(pageOf([])) }
  return pageOf(tests.slice(0, items.length).map((test) => figuresOf(test, pictures, budget)))
}

function page(result: CheckResult, items: string, left: number): string {
  const { report, error } = result
  const log = fitEnd(report.log_tail, CHECK_REPORT_LOG_MAX_BYTES)
  const key = verdictKey(result)
  const durations = durationsOf(result).map(([name, ms]): [string, string] => [fitLine(name, 200), durationText(ms)])
  const assumptions = report.assumptions
    .slice(0, CHECK_REPORT_LIST_MAX)
    .map((one) => `<li>${escaped(fitLine(one))}</li>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Reality check: ${VERDICT_WORDS[key]}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<div class="head"><h1>Reality check</h1><span class="badge ${key}">${VERDICT_WORDS[key]}</span></div>
<p class="lead">${escaped(fitLine(report.summary))}</p>
${error === null ? '' : `<pre>${escaped(fitText(error))}</pre>`}
${bar(result)}
${facts(factsOf(result))}
${items === '' ? '' : section('Criteria', `<ol class="tests">${items}</ol>${leftOut(left)}`)}
${assumptions.length === 0 ? '' : section('Assumptions', `<ul>${assumptions.join('')}</ul>`)}
${log === '' ? '' : section('Log', `<pre>${escaped(log)}</pre>`)}
${report.plan === null ? '' : section('Plan', facts(planFactsOf(result)))}
${durations.length === 0 ? '' : section('Durations', facts(durations))}
</main>
</body>
</html>
`
}

/** Stands where the pictures of a test come. No text from outside holds it: control characters are replaced. */
const PLACE = '\u0000'

/** Each is written when it is asked for, so that no more is written than fits. */
function* partsOf(tests: readonly TestResult[]): Generator<string> {
  for (const test of tests) yield `${testPart(test)}${PLACE}`
}

function testPart(test: TestResult): string {
  const reason = test.reason === null ? '' : `<p>${escaped(fitText(test.reason))}</p>`
  const entries = evidenceOf(test).map((one) => `<li>${escaped(one)}</li>`)
  const evidence = entries.length === 0 ? '' : `<ul>${entries.join('')}</ul>`
  return `<li><div class="test"><span class="badge ${test.status}">${STATUS_WORDS[test.status]}</span><h3>${escaped(fitLine(test.test))}</h3><span class="quiet">${escaped(test.validator)} · ${durationText(test.duration_ms)}</span></div>${reason}${evidence}`
}

function figuresOf(
  test: TestResult,
  pictures: (name: string) => Buffer | undefined,
  budget: { bytes: number },
): string {
  const names = test.screenshots.slice(0, CHECK_REPORT_ENTRIES_MAX)
  return names.map((name) => spent(figure(name, test, pictures(name), budget.bytes), budget)).join('')
}

/** Where not even a note fits, there is none. */
function spent(text: string, budget: { bytes: number }): string {
  const bytes = Buffer.byteLength(text)
  if (bytes > budget.bytes) return ''
  budget.bytes -= bytes
  return text
}

function figure(name: string, test: TestResult, bytes: Buffer | undefined, room: number): string {
  const caption = escaped(fitLine(name, 512))
  const type = bytes === undefined ? undefined : pictureType(bytes)
  if (bytes === undefined || type === undefined) return `<p class="quiet">${caption}: there is no such picture</p>`
  if (4 * Math.ceil(bytes.length / 3) + FIGURE_BYTES > room)
    return `<p class="quiet">${caption}: left out, the report has its full size</p>`
  const alt = escaped(`Picture of the test: ${fitLine(test.test, 200)}`)
  return `<figure><img alt="${alt}" src="data:${type};base64,${bytes.toString('base64')}"><figcaption>${caption}</figcaption></figure>`
}

/** What stands around a picture, and notes for the pictures that are left out after it. */
const FIGURE_BYTES = 32 * 1024

/** By its first bytes. SVG is none of these: it may hold scripts and addresses. */
function pictureType(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'image/png'
  if (bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))) return 'image/jpeg'
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP'
  return isWebp ? 'image/webp' : undefined
}

function bar({ report: { statistics } }: CheckResult): string {
  const parts = [
    ['passed', statistics.passed],
    ['failed', statistics.failed],
    ['missing', statistics.missing],
  ] as const
  if (!parts.some(([, count]) => count > 0)) return ''
  const spans = parts.map(
    ([status, count]) => `<span class="${status}" style="flex: ${Number(count)} 0 0; background: currentColor"></span>`,
  )
  return `<div class="bar" aria-hidden="true">${spans.join('')}</div>`
}

function facts(rows: readonly [string, string][]): string {
  const lines = rows.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`)
  return lines.length === 0 ? '' : `<dl>${lines.join('')}</dl>`
}

function section(title: string, body: string): string {
  return `<section><h2>${title}</h2>${body}</section>`
}

function leftOut(count: number): string {
  return count === 0 ? '' : `<p class="quiet">${count} more tests are left out: the report has its full size.</p>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
