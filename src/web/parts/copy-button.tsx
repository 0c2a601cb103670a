/** Copies a text to the clipboard and confirms it. If the browser refuses, asks the user to select the text. */
import { useState } from 'react'
import { Icon } from './icon.tsx'

const SAID_MS = 2_000

export function CopyButton({ text, children }: { text: string; children: string }) {
  const [said, setSaid] = useState<string | null>(null)
  const copy = async () => {
    try {
      await copyText(text)
      setSaid('Copied')
    } catch {
      setSaid("Can't copy: select the text instead")
    }
    setTimeout(() => setSaid(null), SAID_MS)
  }
  return (
    <button type="button" className="button button-quiet" onClick={() => void copy()}>
      <Icon name={said === 'Copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{said ?? children}</span>
    </button>
  )
}

export async function copyText(text: string): Promise<void> {
  // The clipboard API exists on secure origins only.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard === undefined) copyByHand(text)
  else await clipboard.writeText(text)
}

function copyByHand(text: string): void {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'out-of-sight'
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
