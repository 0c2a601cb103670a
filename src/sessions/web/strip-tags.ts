/** The text of HTML without its tags, in one pass: for pages that no converter gets through. Pure. */

export function stripTags(html: string): string {
  let text = ''
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at)
    if (open === -1) return tidy(text + html.slice(at))
    text += html.slice(at, open)
    const name = /^<\/?([a-z][a-z0-9]*)/i.exec(html.slice(open, open + 32))?.[1]?.toLowerCase() ?? ''
    if (html.startsWith('<!--', open)) at = endOf(html, '-->', open)
    else if (UNSEEN.has(name) && html[open + 1] !== '/') at = endOfElement(html, name, open)
    // As a browser: what begins no tag is text.
    else if (name === '' && !/^<[/!?]/.test(html.slice(open, open + 2))) {
      text += '<'
      at = open + 1
    } else {
      if (!INLINE.has(name)) text += '\n'
      at = endOf(html, '>', open)
    }
  }
  return tidy(text)
}

const UNSEEN = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe'])
const INLINE = new Set([
  'a',
  'abbr',
  'b',
  'cite',
  'code',
  'em',
  'i',
  'kbd',
  'mark',
  'q',
  's',
  'small',
  'span',
  'strong',
  'sub',
  'sup',
  'u',
])

function endOf(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from)
  return found === -1 ? html.length : found + mark.length
}

function endOfElement(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}`, 'gi')
  end.lastIndex = from
  const found = end.exec(html)
  return found === null ? html.length : endOf(html, '>', found.index)
}

function tidy(text: string): string {
  return text
    .replace(/&(lt|gt|quot|apos|nbsp|amp|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .split('\n')
    .map((line) => line.replace(/[ \t\r]{2,}/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')
}

const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  amp: '&',
  '#39': "'",
}
