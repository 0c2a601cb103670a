/** Gets the whole patch when it is asked for: to the clipboard, or as a file. */
import { useState } from 'react'
import { plainCommand } from '../../../../core/view/command-line.ts'
import { type DiffWish, fetchRepoDiff } from '../../../api/calls.ts'
import { sentenceOf } from '../../../api/problem.ts'
import { copyText } from '../../../parts/copy-button.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { saveText } from '../../../parts/save-file.ts'

const SAID_MS = 3_000

interface PatchButtonsProps {
  id: string
  repo: string
  wish: DiffWish
}

export function PatchButtons({ id, repo, wish }: PatchButtonsProps) {
  const [said, setSaid] = useState('')
  const [trouble, setTrouble] = useState<string | null>(null)
  const withPatch = async (use: (patch: string) => Promise<string | undefined>) => {
    setTrouble(null)
    try {
      const { patch, patch_cut: isCut } = await fetchRepoDiff(id, repo, { ...wish, patch: true })
      if (isCut || patch === null) {
        setTrouble(
          `The patch is too long for the page. “${plainCommand('instance', 'pull', id, repo)}” fetches the work.`,
        )
        return
      }
      const done = await use(patch)
      if (done === undefined) setTrouble('The browser does not allow copying. Save the patch instead.')
      setSaid(done ?? '')
      setTimeout(() => setSaid(''), SAID_MS)
    } catch (error) {
      setTrouble(sentenceOf(error))
    }
  }
  const copy = (patch: string) =>
    copyText(patch).then(
      () => 'Copied',
      () => undefined,
    )
  const save = async (patch: string) => {
    saveText(`${repo}.patch`, patch)
    return 'Saved'
  }
  return (
    <div className="patch-buttons">
      <button type="button" className="button button-small" onClick={() => void withPatch(copy)}>
        <Icon name="copy" /> Copy patch
      </button>
      <button type="button" className="button button-small" onClick={() => void withPatch(save)}>
        <Icon name="down" /> Save patch
      </button>
      <span role="status" className="quiet">
        {said}
      </span>
      {trouble !== null && (
        <p className="notice notice-trouble" role="alert">
          {trouble}
        </p>
      )}
    </div>
  )
}
