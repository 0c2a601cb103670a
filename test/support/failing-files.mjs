/**
 * Imported before a program (`node --import`), it lets the Nth file call under RESOLVE_FAULT_HOME fail. RESOLVE_FAULT_CALL is N, 0 for
 * none; RESOLVE_FAULT_HOW is EIO, ENOSPC or kill (right before the call). At its end the process says on descriptor 3, where
 * it has one, how many calls there were. The platform knows nothing of it. Used by {@link file://./../faults/file-calls.test.ts}.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { sep } from 'node:path'

const home = process.env['RESOLVE_FAULT_HOME'] ?? '/nowhere'
const nth = Number(process.env['RESOLVE_FAULT_CALL'] ?? 0)
const how = process.env['RESOLVE_FAULT_HOW'] ?? 'EIO'
for (const name of ['RESOLVE_FAULT_HOME', 'RESOLVE_FAULT_CALL', 'RESOLVE_FAULT_HOW']) delete process.env[name]

const writeSync = fs.writeSync
/** Descriptors of files under the home. */
const held = new Set()
let calls = 0

function isOurs(target) {
  if (typeof target === 'number') return held.has(target)
  const path = target instanceof URL ? target.pathname : String(target)
  const [, fd] = /^\/proc\/self\/fd\/(\d+)(?:\/|$)/.exec(path) ?? []
  if (fd !== undefined) return held.has(Number(fd))
  return path === home || path.startsWith(home + sep)
}

/** Counts a call, and says whether it is the one. */
function count(name) {
  calls += 1
  if (calls !== nth) return undefined
  if (how === 'kill') process.kill(process.pid, 'SIGKILL')
  try {
    writeSync(3, `failed ${name}\n`)
  } catch {
    // Ignored: no test reads it.
  }
  const text = how === 'ENOSPC' ? 'no space left on device' : 'i/o error'
  return Object.assign(new Error(`${how}: ${text}, ${name}`), { code: how, syscall: name })
}

function wrapSync(name) {
  const real = fs[name]
  fs[name] = (...args) => {
    const ours = isOurs(args[0])
    const error = ours ? count(name) : undefined
    if (name === 'closeSync') held.delete(args[0])
    // What is closed is closed, whatever is said about it.
    if (error !== undefined && name === 'closeSync') real(...args)
    if (error !== undefined) throw error
    const result = real(...args)
    if (ours && name === 'openSync') held.add(result)
    return result
  }
}

const SYNC = [
  'access',
  'chmod',
  'close',
  'fchown',
  'fdatasync',
  'fstat',
  'fsync',
  'ftruncate',
  'link',
  'lstat',
  'mkdir',
  'open',
  'opendir',
]
const MORE = [
  'read',
  'readFile',
  'readdir',
  'rename',
  'rm',
  'stat',
  'truncate',
  'unlink',
  'write',
  'writeFile',
  'copyFile',
  'lchown',
]
for (const name of [...SYNC, ...MORE]) wrapSync(`${name}Sync`)

const PROMISED = [
  'access',
  'chmod',
  'link',
  'lstat',
  'mkdir',
  'open',
  'readFile',
  'readdir',
  'rename',
  'rm',
  'stat',
  'unlink',
  'writeFile',
]
for (const name of PROMISED) {
  const real = fs.promises[name]
  fs.promises[name] = async (...args) => {
    const ours = isOurs(args[0])
    const error = ours ? count(name) : undefined
    if (error !== undefined) throw error
    const result = await real(...args)
    if (ours && name === 'open') wrapHandle(result)
    return result
  }
}

function wrapHandle(handle) {
  for (const name of ['read', 'readFile', 'stat', 'sync', 'datasync', 'truncate', 'write', 'writeFile', 'close']) {
    const real = handle[name].bind(handle)
    handle[name] = async (...args) => {
      const error = count(`handle.${name}`)
      if (error !== undefined && name === 'close') await real()
      if (error !== undefined) throw error
      return await real(...args)
    }
  }
}

syncBuiltinESMExports()

process.on('exit', () => {
  try {
    writeSync(3, `calls ${calls}\n`)
  } catch {
    // Ignored: no test reads it.
  }
})
