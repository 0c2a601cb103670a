/** Opens a sign-in link in the browser. The link contains a code, so it is passed in a file: other users can list arguments of processes. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How long the file is kept for the browser. */
const KEEP_MS = 60_000

/** Best effort: without a browser, calls `note` with a sentence that asks the user to open the link. */
export async function openInBrowser(link: string, note: (sentence: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'resolve-sign-in-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const page = join(folder, 'sign-in.html')
  // The link needs no HTML escaping: it is an address with a code of letters, digits, "-" and "_".
  writeFileSync(page, `<!doctype html><title>resolve</title><meta http-equiv="refresh" content="0;url=${link}">\n`, {
    mode: 0o600,
  })
  const [program = '', ...words] = opener(process.platform)
  const isOpened = await new Promise<boolean>((resolve) => {
    const child = spawn(program, [...words, page], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => resolve(true))
    child.unref()
  })
  if (!isOpened) {
    remove()
    note('Cannot open a browser: open the link yourself.')
    return
  }
  setTimeout(remove, KEEP_MS).unref()
}

function opener(platform: NodeJS.Platform): string[] {
  if (platform === 'darwin') return ['open']
  return platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
}
