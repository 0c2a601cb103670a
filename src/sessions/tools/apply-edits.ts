/** Exact edits of a text: pure. Nothing is guessed; a text that is not found, or found twice, is a problem that says so. */
import { TOOL_EDIT_PLACES_MAX, TOOL_READ_FILE_MAX_BYTES } from '../../core/limits.ts'

export interface Edit {
  old_string: string
  new_string: string
  replace_all?: boolean
}

export type Edited = { text: string; replaced: number } | { problem: string }

const BOM = '\ufeff'

/** All edits are against `text`. A file whose every line ends with CRLF is matched as if with LF, and keeps CRLF; a BOM stays. */
export function applyEdits(text: string, edits: readonly Edit[]): Edited {
  const bom = text.startsWith(BOM) ? BOM : ''
  const body = text.slice(bom.length)
  const isCrlf = body.includes('\r\n') && !/(?<!\r)\n/.test(body)
  const plain = (one: string) => (isCrlf ? one.replaceAll('\r\n', '\n') : one)
  const before = plain(body)
  const places: { from: number; to: number; by: string }[] = []
  for (const [at, { old_string, new_string, replace_all = false }] of edits.entries()) {
    const which = edits.length === 1 ? 'old_string' : `old_string of edit ${at + 1}`
    const [old, by] = [plain(old_string), plain(new_string)]
    if (old === '') return { problem: `${which} is empty.` }
    if (old === by) return { problem: `${which} and new_string are equal.` }
    const found = occurrences(before, old)
    if (places.length + found.length > TOOL_EDIT_PLACES_MAX)
      return {
        problem: `${which} is in the file too often. At most ${TOOL_EDIT_PLACES_MAX} places are changed at once.`,
      }
    if (found.length === 0) return { problem: `${which} is not in the file. ${hintFor(before, old)}` }
    if (found.length > 1 && !replace_all)
      return {
        problem: `${which} is in the file ${found.length} times. Give more of the lines around it, or replace_all.`,
      }
    for (const from of found) places.push({ from, to: from + old.length, by })
  }
  const length = places.reduce((sum, { from, to, by }) => sum + by.length - (to - from), before.length)
  if (length > TOOL_READ_FILE_MAX_BYTES)
    return { problem: `it would have ${length} characters, and at most ${TOOL_READ_FILE_MAX_BYTES} can be written.` }
  places.sort((a, b) => a.from - b.from)
  let after = ''
  let end = 0
  for (const { from, to, by } of places) {
    if (from < end) return { problem: 'two edits overlap.' }
    after += before.slice(end, from) + by
    end = to
  }
  after += before.slice(end)
  return { text: bom + (isCrlf ? after.replaceAll('\n', '\r\n') : after), replaced: places.length }
}

function occurrences(text: string, part: string): number[] {
  const found: number[] = []
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
    found.push(at)
    if (found.length > TOOL_EDIT_PLACES_MAX) break
  }
  return found
}

/** Where only white space differs, the model is told so: this is the usual reason. */
function hintFor(text: string, part: string): string {
  const fold = (one: string) => one.replace(/\s+/g, ' ').trim()
  const folded = fold(part)
  return folded !== '' && fold(text).includes(folded)
    ? 'The same words are there with other white space: read the lines again.'
    : 'Read the file again.'
}
