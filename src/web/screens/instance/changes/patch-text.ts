/** A patch as the page shows it: a bounded number of lines and characters, and no character that hides or reorders others. Pure. */

export interface ShownPatch {
  text: string
  /** Lines of the whole patch, and how many of them `text` has. */
  lines: number
  shown: number
  /** It has characters that are shown as their code. */
  hasUnseen: boolean
}

const LINE_MAX_CHARS = 1_000

/** The first `maxLines` lines. */
export function shownPatch(patch: string, maxLines: number): ShownPatch {
  const all = patch.endsWith('\n') ? patch.slice(0, -1).split('\n') : patch.split('\n')
  const first = all.slice(0, maxLines)
  const endOf = lineEnds(first)
  let hasUnseen = false
  const lines = first.map((line) => {
    const isText = /^[ +-]/.test(line)
    const plain = isText && line.endsWith('\r') ? `${line.slice(0, -1)}${endOf}` : line
    const seen = seenText(shortened(plain))
    hasUnseen ||= seen.hasUnseen
    return seen.text
  })
  return { text: lines.join('\n'), lines: all.length, shown: first.length, hasUnseen }
}

/** Where each line ends in CR LF, it says nothing; where only some do, the difference may be this alone. */
function lineEnds(lines: readonly string[]): '' | '␍' {
  const texts = lines.filter((line) => /^[ +-]/.test(line) && !/^(?:---|\+\+\+) /.test(line))
  return texts.every((line) => line.endsWith('\r')) ? '' : '␍'
}

function shortened(line: string): string {
  if (line.length <= LINE_MAX_CHARS) return line
  return `${line.slice(0, LINE_MAX_CHARS).toWellFormed()} ⋯ ${line.length - LINE_MAX_CHARS} more characters`
}

/** Control characters except the tab; marks that change the reading direction; characters without a shape; tags. */
const UNSEEN =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

export function seenText(text: string): { text: string; hasUnseen: boolean } {
  let hasUnseen = false
  const seen = text.replace(UNSEEN, (unseen) => {
    hasUnseen = true
    const code = unseen.codePointAt(0) ?? 0
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
  return { text: seen, hasUnseen }
}
