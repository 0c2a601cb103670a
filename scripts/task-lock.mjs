/** A lock for preparing a checkout, so that two tasks started together do not install or build at the same time. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const RETRY_MS = 100

/** Runs `work` while holding the checkout's lock. Waits for a live holder and takes over from a dead one. */
export async function withTaskLock(root, work) {
  const path = join(root, '.task-lock')
  while (!acquire(path)) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  const release = () => rmSync(path, { force: true })
  process.once('exit', release)
  try {
    return await work()
  } finally {
    process.off('exit', release)
    release()
  }
}

function acquire(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  if (!isHeld(path)) rmSync(path, { force: true })
  return false
}

function isHeld(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'))
    // A lock without a pid yet counts as held.
    if (pid > 0) process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
