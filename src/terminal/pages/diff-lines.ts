/** How a difference is printed: for `resolve instance diff`. Pure. */
import type { RepoDiff } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'

/** A line for each file, and the sum. */
export function statLines({ files, files_total, additions, deletions }: RepoDiff): string[] {
  if (files_total === 0) return []
  const counts = files.map((file) => (file.binary === true ? 'binary' : `+${file.additions} -${file.deletions}`))
  const width = Math.max(...counts.map(({ length }) => length))
  const lines = files.map(({ path, old_path, change }, at) => {
    const name = old_path === undefined ? cleanLine(path) : `${cleanLine(old_path)} → ${cleanLine(path)}`
    return `${LETTERS[change]}  ${(counts[at] ?? '').padEnd(width)}  ${name}`
  })
  const noun = files_total === 1 ? 'file' : 'files'
  return [...lines, `${files_total} ${noun}, +${additions} -${deletions}`]
}

const LETTERS: Readonly<Record<RepoDiff['files'][number]['change'], string>> = {
  added: 'A',
  deleted: 'D',
  modified: 'M',
  renamed: 'R',
  copied: 'C',
  type_changed: 'T',
}

export type LineStyle = 'bold' | 'cyan' | 'green' | 'red'

/** Each line of a patch with its style, as git colours it; undefined for none. */
export function styledPatch(patch: string): { line: string; style: LineStyle | undefined }[] {
  let isHead = false
  return patch
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      if (line.startsWith('diff --git ')) isHead = true
      else if (line.startsWith('@@ ')) isHead = false
      else if (!isHead)
        return { line, style: line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined }
      return { line, style: isHead ? 'bold' : 'cyan' }
    })
}
