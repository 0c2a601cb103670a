/** The icon of a data file, by its type. */
import { type FileIcon, iconOf } from './preview-kind.ts'

const PATHS: Readonly<Record<FileIcon, string>> = {
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  words: 'M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 15h5M10 18h3',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  table: 'M4 5h16v14H4zM4 10h16M4 15h16M10 5v14',
  diff: 'M7 3h7l4 4v14H7zM12 8v5M9.5 10.5h5M9.5 17h5',
  braces: 'M9 4c-3 0-1 7-4 8 3 1 1 8 4 8M15 4c3 0 1 7 4 8-3 1-1 8-4 8',
  code: 'M9 8l-5 4 5 4M15 8l5 4-5 4',
  box: 'M5 4h14v5H5zM5 9v11h14V9M10 13h4',
}

export function FileMark({ path }: { path: string }) {
  const icon = iconOf(path)
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false" data-icon={icon}>
      <path d={PATHS[icon]} />
    </svg>
  )
}
