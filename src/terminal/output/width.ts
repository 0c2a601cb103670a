/** Measures and cuts text in terminal columns: counts graphemes, East Asian wide ones as two columns. */

let segmenter: Intl.Segmenter | undefined

/** Created on first use: creating a segmenter takes longer than drawing a table. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return segmenter.segment(text)
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f/u
/** Marks that join the character before them, and invisible characters. */
const NO_WIDTH = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u

/** Characters of one column that do not combine: ASCII, Latin letters, dashes and dots, boxes and circles, tick and cross. */
const SINGLE =
  /^[ -~\u00a1-\u00a8\u00b0-\u02ff\u2010-\u2027\u2030-\u203b\u2200-\u22ff\u2500-\u25a9\u25c1-\u25fa\u2713\u2717]*$/

export function widthOf(text: string): number {
  if (SINGLE.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(text)) if (!NO_WIDTH.test(segment)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** The text, or its beginning with an ellipsis, in at most `columns`. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of graphemesOf(text)) {
    const next = widthOf(segment)
    if (width + next > columns - 1) break
    kept += segment
    width += next
  }
  return columns < 1 ? '' : `${kept}…`
}

export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}
