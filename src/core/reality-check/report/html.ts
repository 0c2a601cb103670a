/** The result of a check as a page of its own, without scripts and without anything from elsewhere (docs/reality-check.md, Reports). Pure. */
import type { CheckResult, TestResult } from '../../protocol/reality-check.ts'

const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
const PICTURES_MAX_BYTES = 6 * 1024 * 1024
const NAMES = { passed: 'Passed', failed: 'Failed', missing: 'Not judged' } as const

/** `picture` gives the bytes of a file of the check. */
export function htmlOf(result: CheckResult, picture: (name: string) => Uint8Array | undefined): string {
  const { report, verdict, failure_mode: mode, software } = result
  let left = PICTURES_MAX_BYTES
  const image = (name: string): string => {
    const bytes = picture(name)
    if (bytes === undefined || bytes.length > left) return ''
    left -= bytes.length
    return `<img alt="The page at the end of the test" src="data:image/png;base64,${Buffer.from(bytes).toString('base64')}">`
  }
  const tests = [...report.failures, ...report.missing, ...report.passed]
  const title = `${verdict ?? 'no verdict'}${mode === null ? '' : ` (${mode})`}`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Reality check: ${text(title)}</title><style>${STYLE}</style></head>
<body><main>
<h1 class="${verdict ?? 'none'}">${text(title)}</h1>
<p>${text(report.summary)}</p>
<dl><dt>Software</dt><dd>${text(software)}</dd><dt>Commit</dt><dd>${text(report.commit ?? 'none')}</dd><dt>Start command</dt><dd>${text(report.plan?.start ?? 'none')}</dd></dl>
<h2>Criteria (${report.statistics.pass_rate})</h2>
${tests.map((test) => section(test, image)).join('\n')}
${report.log_tail.trim() === '' ? '' : `<h2>The last that was printed</h2><pre>${text(report.log_tail)}</pre>`}
</main></body></html>
`
}

function section({ test, status, reason, evidence, screenshots }: TestResult, image: (name: string) => string): string {
  const why = reason === null ? '' : `<p>${text(reason)}</p>`
  const list = evidence.length === 0 ? '' : `<ul>${evidence.map((one) => `<li>${text(one)}</li>`).join('')}</ul>`
  return `<section class="${status}"><h3><span>${NAMES[status]}</span> ${text(test)}</h3>${why}${list}${screenshots.map(image).join('')}</section>`
}

function text(value: string): string {
  return value
    .toWellFormed()
    .replace(/[^\t\n\P{Cc}]/gu, '\u{fffd}')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;')
}

const STYLE = `
:root{color-scheme:light dark;--line:#8884;--good:#1a7f37;--bad:#cf222e;--none:#9a6700}
@media (prefers-color-scheme:dark){:root{--good:#4ac26b;--bad:#ff7b72;--none:#d4a72c}}
body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:52rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}h3{font-size:1rem;font-weight:500;margin:0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:0}dd{margin:0;overflow-wrap:anywhere}
section{border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;margin:.5rem 0;overflow-wrap:anywhere}
section span{font-weight:600;margin-right:.5rem}.passed span,h1.pass{color:var(--good)}.failed span,h1.fail{color:var(--bad)}
.missing span,h1.partial,h1.none{color:var(--none)}ul{margin:.5rem 0 0;padding-left:1.25rem}img{max-width:100%;margin-top:.75rem;border:1px solid var(--line)}
pre{border:1px solid var(--line);border-radius:6px;padding:.75rem;overflow:auto;white-space:pre-wrap}`
