/** Notifications of the desktop of this machine: notify-send, or osascript on macOS. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { NOTIFY_SEND_LIMIT_MS } from '../limits.ts'

const SCRIPT = ['on run argv', 'display notification (item 2 of argv) with title (item 1 of argv)', 'end run']

export function hasDesktop(): boolean {
  return program() !== undefined
}

/** Undefined where it was shown, else why not. The texts are arguments: no shell and no script reads them. */
export function showOnDesktop(title: string, body: string): Promise<string | undefined> {
  const found = program()
  if (found === undefined) return Promise.resolve('notify-send or osascript is missing')
  const args = found.endsWith('osascript')
    ? [...SCRIPT.flatMap((line) => ['-e', line]), title, body]
    : ['--app-name=resolve', '--', title, body]
  return new Promise((resolve) => {
    execFile(found, args, { timeout: NOTIFY_SEND_LIMIT_MS, killSignal: 'SIGKILL' }, (error) => {
      resolve(error === null ? undefined : `${found.endsWith('osascript') ? 'osascript' : 'notify-send'} failed`)
    })
  })
}

function program(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const names = process.platform === 'darwin' ? ['osascript'] : ['notify-send']
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
