/** The last message of the model, as the title and the text of a commit. Pure. */

export interface Report {
  /** One line. */
  title: string
  body: string
  /** Both, for people. */
  text: string
}

const TITLE_MAX_CHARS = 100
/** An argument of a program has at most 128 KiB. */
const BODY_MAX_CHARS = 30_000

/** A model may begin with mark-up or an empty line. Without any words, the title says the task. */
export function readReport(output: string, task: string): Report {
  // No program takes a NUL in its arguments.
  const lines = output.replaceAll('\0', '').trim().split(/\r?\n/)
  const [first = '', ...rest] = lines
  const body = cut(rest.join('\n').trim(), BODY_MAX_CHARS)
  const title = cut(plain(first) || plain(task) || 'Work on a task', TITLE_MAX_CHARS)
  return { title, body, text: body === '' ? title : `${title}\n\n${body}` }
}

function plain(text: string): string {
  const [line = ''] = text.trim().split(/[\r\n]/)
  return line
    .replace(/^[#>*\s-]+/, '')
    .replace(/[*`.\s]+$/, '')
    .replaceAll(/\p{Cc}/gu, ' ')
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
