/** Finds the line that names the method and the path of an endpoint, and checks both. */
import { quoted, type Report } from './rules.ts'
import type { SpecLine } from './scan.ts'

/** An endpoint that is being read: where it begins, and the lines that belong to it. */
export interface EndpointPart {
  line: number
  title: string | null
  method: string
  path: string
  lines: SpecLine[]
}

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const isMethod = (word: string) => (METHODS as readonly string[]).includes(word)

/** The method and path of a line that has nothing else but marks and a description behind a dash; undefined for another line. */
export function endpointIn(text: string, line: number, report: Report): { method: string; path: string } | undefined {
  const bare = text.replace(/^[#>\-*+\s]{0,10}/, '').replaceAll(/[`*]/g, '')
  const [word = '', path = '', ...more] = bare.split(/\s+/, 4)
  if (!/^[A-Za-z]{2,12}$/.test(word)) return undefined
  const isPath = /^(?:\/|https?:\/\/)/i.test(path)
  const method = word.toUpperCase()
  // A sentence may begin with such a word: "Get notes by tag".
  const isEndpoint = isMethod(method)
    ? isPath || (word === method && path !== '' && more.length === 0)
    : isPath && word === method
  if (!isEndpoint) return undefined
  // "GET /notes returns 200 with …" describes an endpoint that stands above.
  if (more.length > 0 && !/^[-–—:(]/.test(more[0] ?? '')) return undefined
  if (!isMethod(method)) {
    report('endpoint_method', line, `${quoted(word)} is no method; the methods are ${METHODS.join(', ')}`)
  } else if (word !== method) {
    report(
      'endpoint_method',
      line,
      `The method ${quoted(word)} is not in capitals`,
      `\`${method} ${path.slice(0, 120)}\``,
    )
  }
  return { method, path }
}

export function checkPath(path: string, line: number, method: string, report: Report): void {
  const shown = path.slice(0, 200)
  const origin = /^https?:\/\/[^/]*/i.exec(shown)?.[0]
  const braced = withBraces(shown)
  const better = (exact: string) => `\`${method} ${exact}\``
  if (origin !== undefined) {
    report('endpoint_path', line, 'The path has a host', better(shown.slice(origin.length) || '/'))
  } else if (!path.startsWith('/')) {
    report('endpoint_path', line, `The path ${quoted(path)} does not begin with /`, better(`/${shown}`))
  } else if (/[?#]/.test(path)) {
    const [exact = '/'] = shown.split(/[?#]/, 1)
    report('endpoint_path', line, `The path ${quoted(path)} has a query`, better(exact))
  } else if (/\.\.\.|…|\*|\/\//.test(path)) {
    report('endpoint_path', line, `The path ${quoted(path)} is not exact`)
  } else if (braced !== shown) {
    report('endpoint_parameter', line, `The path ${quoted(path)} has a parameter without braces`, better(braced))
  } else if (/[{}<>[\]]/.test(path.replaceAll(/\{[A-Za-z_][\w-]*\}/g, ''))) {
    report('endpoint_parameter', line, `The path ${quoted(path)} has a parameter that is not {name}`)
  }
}

/** `/notes/:id`, `/notes/<id>` and `/notes/[id]` as `/notes/{id}`. */
function withBraces(path: string): string {
  const braced = path.split('/').map((part) => {
    const name = /^(?::(\w+)|<(?:\w+:)?(\w+)>|\[(\w+)\])$/
      .exec(part)
      ?.slice(1)
      .find((one) => one !== undefined)
    return name === undefined ? part : `{${name}}`
  })
  return braced.join('/')
}
