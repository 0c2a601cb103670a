/** The rules of the section Proof: outcomes that are observed over HTTP, and what of them can be checked as it stands. */
import { JSON_MAX_DEPTH } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { isWithinDepth } from '../primitives/json-depth.ts'
import { METHODS } from './endpoint-line.ts'
import type { Endpoint, ErrorCase, ProofCheck, ProofItem, SpecItem } from './feature-spec.ts'
import { codeSpans, prose } from './items.ts'
import { listed } from './lists.ts'
import { quoted, type Report } from './rules.ts'
import type { Section } from './scan.ts'
import { vagueWord } from './words.ts'

const CALL = new RegExp(`(?:^|[\\s\`(*])(${METHODS.join('|')})\\s+(/[^\\s\`)*,]*)`)
const RETURNS = /\b(?:returns?|responds?|answers?|gives?|yields?|produces?|results? in|is|shows?)\b/i
const IN_THE_CODE =
  /\b(?:run(?:s|ning)? (?:the |all )?(?:unit |integration )?tests?|(?:all |the )?(?:unit |integration )?tests? (?:still )?pass(?:es)?|code (?:looks|is|review|coverage|quality)|code (?:works|compiles)|review the code|linter|lint (?:passes|is)|type ?check(?:s|er)?|it works|works? (?:fine|well)|check (?:that )?the code)\b/i
const STATUS = /(?<![\w./{,-])[1-5]\d\d(?![\w,/}]|\.\d)/g

export interface Declared {
  endpoints: readonly Endpoint[]
  errors: readonly ErrorCase[]
}

export function readProof(section: Section, declared: Declared, report: Report): ProofItem[] {
  const items = listed(section, 'proof_item', report).map((item) => readItem(item, declared, report))
  if (items.length === 0) return items
  for (const { method, path, line } of declared.endpoints) {
    const isProved = items.some((one) => one.method === method && one.path !== null && fits(path, one.path))
    if (!isProved)
      report(
        'proof_uncovered',
        line,
        `${method} ${quoted(path)} has no proof`,
        `- \`${method} ${path.slice(0, 120)}\` returns 200 with …`,
      )
  }
  return items
}

function readItem(item: SpecItem, declared: Declared, report: Report): ProofItem {
  const { line, text } = item
  const [, method = null, path = null] = CALL.exec(text) ?? []
  const said = text.replace(CALL, ' ').replaceAll(/`[{[][^`]*`/g, ' ')
  const statuses = [...said.matchAll(STATUS)].map(([word]) => Number(word))
  const inCode = IN_THE_CODE.exec(text)?.[0]
  const vague = vagueWord(prose(text))
  if (inCode !== undefined) report('proof_not_observable', line, `"${inCode}" is not observed over HTTP`)
  else if (vague !== undefined) report('proof_vague', line, `"${vague}" cannot be checked`)
  else if (statuses.length === 0 && !hasOutcome(text))
    report('proof_outcome', line, `${quoted(text)} states no outcome`)
  const endpoint = declared.endpoints.find((one) => one.method === method && path !== null && fits(one.path, path))
  const [status] = statuses
  if (status !== undefined && !isDeclared(status, endpoint, declared))
    report('proof_status', line, `No endpoint and no error case here has the status ${status}`)
  return {
    ...item,
    method,
    path,
    check: method === null || path === null ? null : toCheck(text, method, path, status, endpoint),
  }
}

/** A value between backticks or quotation marks, or a number, beside the request. */
function hasOutcome(text: string): boolean {
  const rest = text.replace(CALL, ' ')
  return /\d|`[^`\s]|"[^"\s]/.test(rest)
}

function isDeclared(status: number, endpoint: Endpoint | undefined, { errors }: Declared): boolean {
  if (status >= 400) return errors.some((one) => one.status === status)
  // A request of another part of the software has statuses of its own.
  return endpoint === undefined || endpoint.status.includes(status)
}

/** Whether a path of a request is one of the endpoint: `/notes/7`, `/notes/{id}` and `/notes/{note_id}` of `/notes/{id}`. */
export function fits(template: string, given: string): boolean {
  const [path = ''] = given.split(/[?#]/, 1)
  const [wanted, got] = [template.split('/'), path.split('/')]
  return (
    wanted.length === got.length &&
    wanted.every((part, at) => (part.startsWith('{') ? got[at] !== '' : part === got[at]))
  )
}

/** null where a parameter of the path is open, no status is told, or a request body is needed that is not there. */
function toCheck(
  text: string,
  method: string,
  path: string,
  status: number | undefined,
  endpoint: Endpoint | undefined,
): ProofCheck | null {
  if (status === undefined || /[{}<>]/.test(path)) return null
  const at = RETURNS.exec(text)?.index ?? text.length
  const spans = codeSpans(text)
  const given = spans.filter((span) => span.at < at && /^[{[]/.test(span.text)).map((span) => parsed(span.text))[0]
  const isSent = ['POST', 'PUT', 'PATCH'].includes(method)
  const body = given ?? (isSent && status < 400 ? endpoint?.request : undefined)
  // A failure depends on what is sent: without its body it is not this failure.
  if (isSent && status >= 400 && given === undefined) return null
  const contains: string[] = []
  const fields: ProofCheck['fields'] = []
  for (const { text: span } of spans.filter((one) => one.at > at)) {
    const value = /^[{[]/.test(span) ? parsed(span) : undefined
    if (isObject(value)) {
      for (const [name, equals] of Object.entries(value)) {
        if (equals === null || typeof equals !== 'object') fields.push({ name, equals: equals as string })
        else contains.push(JSON.stringify(name))
      }
    } else if (/^[A-Za-z_][\w-]{0,63}$/.test(span)) contains.push(span)
  }
  return { method, path, body, status, contains, fields }
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isWithinDepth(value, JSON_MAX_DEPTH) ? value : undefined
  } catch {
    return undefined
  }
}
