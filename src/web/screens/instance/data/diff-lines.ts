/** What each line of a unified diff is, so that the preview can colour it. Pure. */

export type DiffKind = 'file' | 'hunk' | 'added' | 'removed' | 'same'

const HEADS =
  /^(diff |index |--- |\+\+\+ |old mode|new mode|new file|deleted file|similarity |rename |copy |Binary files )/

/** A line within a hunk is never a head: a removed line may begin with `-- `. */
export function diffKinds(lines: readonly string[]): DiffKind[] {
  let left = 0
  let right = 0
  return lines.map((line) => {
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (hunk !== null && left <= 0 && right <= 0) {
      left = Number(hunk[1] ?? 1)
      right = Number(hunk[2] ?? 1)
      return 'hunk'
    }
    if (left > 0 || right > 0) {
      if (line.startsWith('\\')) return 'same'
      if (line.startsWith('+')) {
        right -= 1
        return 'added'
      }
      if (line.startsWith('-')) {
        left -= 1
        return 'removed'
      }
      left -= 1
      right -= 1
      return 'same'
    }
    return HEADS.test(line) ? 'file' : 'same'
  })
}
