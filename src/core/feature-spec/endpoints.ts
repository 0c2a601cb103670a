/** The rules of the section Endpoints: method, exact path, request body, success status with response body. */
import { FEATURE_SPEC_MAX_ENDPOINTS } from '../limits.ts'
import { readBodies } from './endpoint-bodies.ts'
import { checkPath, type EndpointPart, endpointIn } from './endpoint-line.ts'
import type { Endpoint } from './feature-spec.ts'
import { quoted, type Report } from './rules.ts'
import { headingOf, type Section } from './scan.ts'

export function readEndpoints(section: Section, report: Report): Endpoint[] {
  const parts = partsOf(section, report)
  if (parts.length === 0) {
    const hasContent = section.lines.some((one) => one.kind === 'block' || one.text !== '')
    if (hasContent) report('endpoint_none', section.line, 'Endpoints names no method with a path')
    return []
  }
  if (parts.length > FEATURE_SPEC_MAX_ENDPOINTS)
    report('endpoint_count', section.line, `The spec has ${parts.length} endpoints`)
  const known = new Map<string, number>()
  return parts.map((part) => {
    const { line, title, method, path } = part
    checkPath(path, line, method, report)
    const name = `${method} ${path.replaceAll(/\{[^{}]*\}/g, '{}')}`
    const earlier = known.get(name)
    if (earlier !== undefined) report('endpoint_twice', line, `${method} ${quoted(path)} is in line ${earlier} too`)
    else known.set(name, line)
    return { line, title, method, path, ...readBodies(part, report) }
  })
}

/** A heading begins the next endpoint; so does a line with another method and path. */
function partsOf(section: Section, report: Report): EndpointPart[] {
  const parts: EndpointPart[] = []
  let heading: { line: number; text: string } | undefined
  let current: EndpointPart | undefined
  const endHeading = () => {
    if (heading !== undefined)
      report('endpoint_line_missing', heading.line, `${quoted(heading.text)} has no method and path`)
    heading = undefined
  }
  for (const one of section.lines) {
    const title = one.kind === 'text' ? headingOf(one.text)?.text : undefined
    const found = one.kind === 'text' ? endpointIn(one.text, one.line, report) : undefined
    if (title !== undefined && !isLabel(title)) {
      endHeading()
      current = undefined
      if (found === undefined) heading = { line: one.line, text: title }
    }
    if (found !== undefined) {
      current = { line: one.line, title: heading?.text ?? null, ...found, lines: [] }
      heading = undefined
      parts.push(current)
    } else if (title === undefined || isLabel(title)) current?.lines.push(one)
  }
  endHeading()
  return parts
}

/** A heading `#### Request body` belongs to the endpoint above it. */
function isLabel(title: string): boolean {
  return /^(?:request|success|response|example|body|headers|query|parameters)/i.test(title.replaceAll('*', ''))
}
