/** The data files of an instance as a tree of folders that can be closed, narrowed by a filter. */
import { useState } from 'react'
import { Link } from 'wouter'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { bytesText } from '../../../../core/view/bytes-text.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { Icon } from '../../../parts/icon.tsx'
import { FileMark } from './file-mark.tsx'
import { FILES_SHOWN_MAX, type Folder, nameOf, treeOf } from './file-tree.ts'

interface Props {
  files: readonly DataFile[]
  chosen: string | null
}

/** From this many files on there is a filter. */
const FILTER_FROM = 8

export function FileList({ files, chosen }: Props) {
  const [filter, setFilter] = useState('')
  const { top, found } = treeOf(files, filter)
  return (
    <nav aria-label="Files" className="files">
      {files.length >= FILTER_FROM && (
        <input
          type="search"
          className="files-filter"
          placeholder="Filter files"
          aria-label="Filter files"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      <div className="files-list">
        <Inside folder={top} chosen={chosen} isFiltered={filter !== ''} />
        {found === 0 && <p className="quiet files-note">No file fits the filter.</p>}
        {found > FILES_SHOWN_MAX && (
          <p className="quiet files-note">
            The first {FILES_SHOWN_MAX} of {found} files. Filter to see others.
          </p>
        )}
      </div>
    </nav>
  )
}

interface InsideProps {
  folder: Folder
  chosen: string | null
  isFiltered: boolean
}

function Inside({ folder, chosen, isFiltered }: InsideProps) {
  return (
    <ul>
      {folder.folders.map((inner) => (
        <FolderRow key={inner.path} folder={inner} chosen={chosen} isFiltered={isFiltered} />
      ))}
      {folder.files.map(({ path, bytes }) => (
        <li key={path}>
          <Link
            href={`?file=${encodeURIComponent(path)}`}
            className="file"
            replace={chosen !== null}
            title={cleanLine(path)}
            aria-label={`${cleanLine(path)} ${bytesText(bytes)}`}
            aria-current={path === chosen ? 'true' : undefined}
          >
            <FileMark path={path} />
            <span className="file-name">{cleanLine(nameOf(path))}</span>{' '}
            <span className="quiet">{bytesText(bytes)}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function FolderRow({ folder, chosen, isFiltered }: InsideProps) {
  const [wish, setWish] = useState<boolean | null>(null)
  // What is found or chosen is seen.
  const isOpen = isFiltered || (wish ?? true)
  return (
    <li>
      <button type="button" className="file folder" aria-expanded={isOpen} onClick={() => setWish(!isOpen)}>
        <Icon name="chevron" />
        <span className="file-name">{cleanLine(folder.name)}</span>
      </button>
      {isOpen && <Inside folder={folder} chosen={chosen} isFiltered={isFiltered} />}
    </li>
  )
}
