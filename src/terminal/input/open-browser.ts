/** Opens a sign-in link in the person's browser. The link holds a code: it is handed over in a file, not in words anybody can list. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How long the browser has to read it. */
const KEEP_MS = 60_000

/** Best effort: where there is no browser, `note` says so and the link is there to be copied. */
export async function openInBrowser(link: string, note: (sentence: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'resolve-sign-in-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const page = join(folder, 'sign-in.html')
  // A link has no character that HTML would read otherwise: an address, and a code of letters, digits, "-" and "_".
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
    note("Can't open a browser here: open the link yourself.")
    return
  }
  setTimeout(remove, KEEP_MS).unref()
}

function opener(platform: NodeJS.Platform): string[] {
  if (platform === 'darwin') return ['open']
  return platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
}
