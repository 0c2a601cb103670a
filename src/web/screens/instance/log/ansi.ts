/** Splits a line of a log into parts with the colours of its ANSI sequences. All other control sequences are removed. Pure. */
import { cleanText } from '../../../../core/view/clean.ts'

export interface AnsiPart {
  text: string
  /** The names of classes: `ansi-red`, `ansi-bold`. */
  classes: string
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
const SGR = /\u001b\[([0-9;]*)m/g

export function ansiParts(line: string): AnsiPart[] {
  const parts: AnsiPart[] = []
  let colour = ''
  let isBold = false
  let isDim = false
  const add = (raw: string) => {
    const text = cleanText(raw)
    if (text === '') return
    const classes = [colour === '' ? '' : `ansi-${colour}`, isBold ? 'ansi-bold' : '', isDim ? 'ansi-dim' : '']
    parts.push({ text, classes: classes.filter(Boolean).join(' ') })
  }
  let from = 0
  for (const match of line.matchAll(SGR)) {
    add(line.slice(from, match.index))
    from = match.index + match[0].length
    const codes = (match[1] ?? '').split(';').map(Number)
    for (let at = 0; at < codes.length; at += 1) {
      const code = codes[at] ?? 0
      if (code === 0) [colour, isBold, isDim] = ['', false, false]
      else if (code === 1) isBold = true
      else if (code === 2) isDim = true
      else if (code === 22) [isBold, isDim] = [false, false]
      else if (code >= 30 && code <= 37) colour = COLOURS[code - 30] ?? ''
      else if (code >= 90 && code <= 97) colour = COLOURS[code - 90] ?? ''
      else if (code === 39) colour = ''
      // The numbers of a palette or RGB colour are no codes of their own.
      else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4
    }
  }
  add(line.slice(from))
  return parts
}
