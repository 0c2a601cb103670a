/** Small file systems of a test's own, to be filled to the last block: a tmpfs, or a real ext4 on a loop device. They need root. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  path: string
  /** Takes all the room there is. */
  fill(): void
  makeRoom(): void
  /** Makes it read-only, or writable again; open files stay open. */
  forbidWriting(): void
  allowWriting(): void
  close(): void
}

const PREFIX = 'resolve-small-'

/** Undefined where this machine does not let us mount one. */
export function smallTmpfs(size: string): SmallDisk | undefined {
  return mounted((path) => run('mount', '-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', path))
}

/** As {@link smallTmpfs}, with blocks, inodes and a journal as a real disk has them. */
export function smallExt4(bytes: number): SmallDisk | undefined {
  unmountStale()
  const image = join(mkdtempSync(join(tmpdir(), 'resolve-image-')), 'disk')
  const disk = mounted((path) => {
    closeSync(openSync(image, 'wx'))
    truncateSync(image, bytes)
    // Nothing is kept for root: full is full.
    run('mkfs.ext4', '-q', '-F', '-m', '0', '-O', '^has_journal', image)
    // The loop device goes with the mount.
    run('mount', '-o', 'loop', image, path)
  })
  const close = () => {
    disk?.close()
    rmSync(join(image, '..'), { recursive: true, force: true })
  }
  if (disk === undefined) close()
  return disk === undefined ? undefined : { ...disk, close }
}

function mounted(mount: (path: string) => void): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  try {
    mount(path)
  } catch {
    rmSync(path, { recursive: true })
    return undefined
  }
  return {
    path,
    fill: () => fill(path),
    makeRoom: () => {
      for (const name of readdirSync(path)) if (name.startsWith('ballast')) rmSync(join(path, name))
    },
    forbidWriting: () => {
      run('mount', '--bind', path, path)
      run('mount', '-o', 'remount,bind,ro', path)
    },
    allowWriting: () => run('umount', '-l', path),
    close: () => {
      unmountAll(path)
      rmSync(path, { recursive: true, force: true })
    },
  }
}

/** In ever smaller pieces, until not a byte more is taken. */
function fill(path: string): void {
  for (const bytes of [1024 * 1024, 64 * 1024, 4096, 1]) {
    for (let n = 0; ; n += 1) {
      const name = join(path, `ballast.${bytes}.${n}`)
      try {
        const file = openSync(name, 'wx')
        try {
          const written = writeSync(file, Buffer.alloc(bytes))
          if (written < bytes) break
        } finally {
          closeSync(file)
        }
      } catch {
        break
      }
    }
  }
}

/** What a run left behind that was killed before it could clean up. */
function unmountStale(): void {
  for (const path of mountsBelow(join(tmpdir(), PREFIX))) {
    const pid = Number(path.slice(join(tmpdir(), PREFIX).length).split('-')[0])
    if (!isAlive(pid)) unmountAll(path)
  }
}

function unmountAll(path: string): void {
  for (const mount of mountsBelow(path)) run('umount', '-l', mount)
}

function mountsBelow(prefix: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  return mounts.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(prefix))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'ignore' })
}

/** Where it must not be passed over: CI, as root. */
export const mustMount = process.env['CI'] !== undefined && process.env['CI'] !== '' && process.getuid?.() === 0
