/** Reads what stands below the line of an endpoint: the example of its request, its success status, the examples of its answers. */
import { JSON_MAX_DEPTH } from '../limits.ts'
import { isWithinDepth } from '../primitives/json-depth.ts'
import type { EndpointPart } from './endpoint-line.ts'
import type { Endpoint } from './feature-spec.ts'
import { codeSpans } from './items.ts'
import { quoted, type Report } from './rules.ts'

const WITHOUT_BODY =
  /\b(?:none|no (?:request |response )?(?:body|content)|without (?:a )?(?:request |response )?body|empty(?: body)?)\b/i

interface Reading {
  status: number[]
  request: unknown
  hasRequest: boolean
  responses: unknown[]
  hasResponse: boolean
}

export function readBodies(part: EndpointPart, report: Report): Pick<Endpoint, 'status' | 'request' | 'responses'> {
  const reading: Reading = { status: [], request: undefined, hasRequest: false, responses: [], hasResponse: false }
  let side: 'request' | 'response' | undefined
  const take = (text: string, line: number) => {
    const value = jsonIn(text, line, report)
    if (side === 'request') {
      reading.hasRequest = true
      reading.request ??= value
    } else {
      reading.hasResponse = true
      if (value !== undefined) reading.responses.push(value)
    }
  }
  for (const one of part.lines) {
    if (one.kind === 'block') {
      if (side !== undefined || one.language.startsWith('json') || /^\s*[{[]/.test(one.text)) take(one.text, one.line)
      continue
    }
    const told = sideOf(one.text)
    if (told === undefined) continue
    side = told
    if (side === 'response') readStatus(one.text, one.line, reading, report)
    if (WITHOUT_BODY.test(one.text)) {
      if (side === 'request') reading.hasRequest = true
      else reading.hasResponse = true
    }
    const inline = codeSpans(one.text).find(({ text }) => /^[{[]/.test(text))?.text ?? bareJson(one.text)
    if (inline !== undefined) take(inline, one.line)
  }
  judge(part, reading, report)
  return { status: reading.status, request: reading.request, responses: reading.responses }
}

function sideOf(text: string): 'request' | 'response' | undefined {
  const bare = text.replaceAll(/[*#_]/g, '').trim()
  if (/^(?:[-+] )?(?:example )?request\b/i.test(bare)) return 'request'
  if (/^(?:[-+] )?(?:example )?(?:success|response|status|returns?|responds?|answers?)\b/i.test(bare)) return 'response'
  return undefined
}

/** `returns 200 with {"ready": true}`: from the first brace to the last one. */
function bareJson(text: string): string | undefined {
  const [from, to] = [text.indexOf('{"'), text.lastIndexOf('}')]
  return from === -1 || to < from ? undefined : text.slice(from, to + 1)
}

function jsonIn(text: string, line: number, report: Report): unknown {
  try {
    const value: unknown = JSON.parse(text)
    if (isWithinDepth(value, JSON_MAX_DEPTH)) return value
    report('body_not_json', line, `The example nests deeper than ${JSON_MAX_DEPTH}`)
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 120) : 'it cannot be parsed'
    report('body_not_json', line, `The example is not JSON (${why})`)
  }
  return undefined
}

function readStatus(text: string, line: number, reading: Reading, report: Report): void {
  const bare = text.replaceAll(/`[{[][^`]*`/g, ' ').replace(/\{".*/, ' ')
  const inexact = /\b[1-5](?:xx|XX)\b/.exec(bare)?.[0]
  if (inexact !== undefined) {
    report('status_inexact', line, `${quoted(inexact)} is not one status`)
    reading.status.push(Number(inexact.charAt(0)) * 100)
  }
  for (const [word] of bare.matchAll(/(?<![\w.,])[1-5]\d\d(?![\w,]|\.\d)/g)) {
    const status = Number(word)
    if (status < 200 || status > 399) report('status_failure', line, `${status} is no success`)
    if (!reading.status.includes(status)) reading.status.push(status)
  }
}

function judge({ line, method, path }: EndpointPart, reading: Reading, report: Report): void {
  const name = `${method} ${path.slice(0, 80)}`
  const { status, hasRequest, request, hasResponse, responses } = reading
  if (['POST', 'PUT', 'PATCH'].includes(method) && !hasRequest)
    report('request_missing', line, `${name} has no example of its request body`)
  if (['GET', 'HEAD'].includes(method) && request !== undefined)
    report('request_unused', line, `${name} has a request body`)
  if (status.length === 0) {
    report('status_missing', line, `${name} has no success status`)
    return
  }
  const isBare = method === 'HEAD' || status.every((one) => one === 204 || one === 205 || (one >= 300 && one < 400))
  if (!isBare && !hasResponse) report('response_missing', line, `${name} has no example of its response body`)
  const [first = 0] = status
  if ([204, 205, 304].includes(first) && status.length === 1 && responses.length > 0)
    report('response_unused', line, `${name} answers ${first} and has a response body`)
}
