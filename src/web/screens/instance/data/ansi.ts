/** Text of a terminal as pieces with their colours: of all control sequences only those of colour and weight count. Pure. */
import { cleanText } from '../../../../core/view/clean.ts'

export interface Piece {
  text: string
  /** Class names; '' for plain text. */
  look: string
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const

/** Pieces that are made; the rest is one piece without colour. */
const PIECES_MAX = 20_000

interface Look {
  colour?: string
  isBold?: boolean
  isDim?: boolean
  isUnderlined?: boolean
}

/** Whether the text has colours at all. */
export function hasColours(text: string): boolean {
  return /\u001b\[[\d;]*m/.test(text)
}

export function ansiPieces(text: string): Piece[] {
  const pieces: Piece[] = []
  let look: Look = {}
  let from = 0
  const add = (raw: string) => {
    const clean = cleanText(raw)
    if (clean !== '') pieces.push({ text: clean, look: classesOf(look) })
  }
  for (const match of text.matchAll(/\u001b\[([\d;]*)m/g)) {
    add(text.slice(from, match.index))
    from = match.index + match[0].length
    look = changed(look, match[1] ?? '')
    if (pieces.length < PIECES_MAX) continue
    look = {}
    break
  }
  add(text.slice(from))
  return pieces
}

function changed(look: Look, codes: string): Look {
  let next = { ...look }
  const numbers = codes.split(';').map(Number)
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] as number
    if (code === 0) next = {}
    else if (code === 1) next.isBold = true
    else if (code === 2) next.isDim = true
    else if (code === 4) next.isUnderlined = true
    else if (code === 22) next = without(next, 'isBold', 'isDim')
    else if (code === 24) next = without(next, 'isUnderlined')
    else if (code === 39) next = without(next, 'colour')
    else if (code >= 30 && code <= 37) next.colour = COLOURS[code - 30] as string
    else if (code >= 90 && code <= 97) next.colour = COLOURS[code - 90] as string
    else if (code === 38 || code === 48) {
      // A colour of a palette, or of three numbers: those of the first sixteen have a name, others are plain.
      const of = numbers[at + 2] ?? 16
      if (code === 38) {
        next = without(next, 'colour')
        if (numbers[at + 1] === 5 && of < 16) next.colour = COLOURS[of % 8] as string
      }
      at += numbers[at + 1] === 5 ? 2 : 4
    }
  }
  return next
}

function without(look: Look, ...names: (keyof Look)[]): Look {
  const rest = { ...look }
  for (const name of names) delete rest[name]
  return rest
}

function classesOf({ colour, isBold, isDim, isUnderlined }: Look): string {
  return [
    ...(colour === undefined ? [] : [`ansi-${colour}`]),
    ...(isBold === true ? ['ansi-bold'] : []),
    ...(isDim === true ? ['ansi-dim'] : []),
    ...(isUnderlined === true ? ['ansi-underlined'] : []),
  ].join(' ')
}
