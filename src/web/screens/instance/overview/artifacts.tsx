/** What a run produced: links to pull requests, branches, commits and files, with the text or a preview of each. */
import { useState } from 'react'
import { Link } from 'wouter'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { cleanLine, cleanText } from '../../../../core/view/clean.ts'
import type { Story, StoryArtifact } from '../../../../core/view/story.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { useDataFiles } from '../data/data.tsx'
import { DataPreview } from '../data/data-preview.tsx'
import { artifactPlace, dataPath } from './artifact-place.ts'

const KIND_WORDS: Readonly<Record<string, string>> = {
  pr: 'Pull request',
  branch: 'Branch',
  commit: 'Commit',
  file: 'File',
  summary: 'Summary',
  verdict: 'Verdict',
  error: 'Error',
}

/** More are in the events. */
const SHOWN_MAX = 50

export function Artifacts(props: TabProps & { story: Story }) {
  const { id, story } = props
  const files = useDataFiles(props).data ?? []
  const shown = story.artifacts.slice(-SHOWN_MAX)
  if (shown.length === 0) return null
  return (
    <section className="overview-part" aria-labelledby="part-artifacts">
      <div className="section-top">
        <h2 id="part-artifacts">Artifacts</h2>
        {shown.length < story.artifacts.length && (
          <span className="quiet">
            the last {shown.length} of {story.artifacts.length}
          </span>
        )}
      </div>
      <ul className="artifacts">
        {shown.map((artifact, at) => (
          <li key={`${at} ${artifact.at}`} data-artifact={artifact.kind}>
            <Artifact
              id={id}
              artifact={artifact}
              hasRepos={(story.repos?.length ?? 0) > 0}
              file={files.find(({ path }) => artifact.kind === 'file' && path === dataPath(artifact.value))}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

interface ArtifactProps {
  id: string
  artifact: StoryArtifact
  hasRepos: boolean
  file: DataFile | undefined
}

function Artifact({ id, artifact, hasRepos, file }: ArtifactProps) {
  const [isOpen, setOpen] = useState(false)
  const { kind, value } = artifact
  const { href, isOutside } = artifactPlace(id, artifact, hasRepos)
  const text = kind === 'summary' || kind === 'verdict' || kind === 'error' ? cleanText(value) : cleanLine(value)
  return (
    <>
      <div className="artifact-line">
        <span className="artifact-kind">{KIND_WORDS[kind] ?? cleanLine(kind)}</span>
        {href === null && <span className="artifact-text">{text}</span>}
        {href !== null && !isOutside && <Link href={href}>{text}</Link>}
        {href !== null && isOutside && (
          <a href={href} target="_blank" rel="noreferrer noopener">
            {text === '' ? href : text}
          </a>
        )}
        {file !== undefined && (
          <button type="button" className="button button-small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Preview
          </button>
        )}
      </div>
      {isOpen && file !== undefined && <DataPreview instance={id} file={file} />}
    </>
  )
}
