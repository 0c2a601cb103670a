#!/usr/bin/env node
/**
 * Makes the image of the Docker tests without a registry: a minimal Debian with git, this Node, and a user with id 1000,
 * imported as `resolve-testbase:<hash>`. Prints the image's name; an existing image is reused. Needs root, debootstrap and an
 * engine. test/support/docker.ts runs it. With `--validator` the image also has Debian's Chromium without a window, and fonts:
 * `resolve-testvalidator:<hash>`.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withTaskLock } from './task-lock.mjs'

const SUITE = 'bookworm'
const PLACE = '/var/tmp'

const forValidator = process.argv.includes('--validator')
const packages = [
  'git',
  'ca-certificates',
  'tini',
  ...(forValidator ? ['chromium-headless-shell', 'fonts-liberation'] : []),
]
const name = forValidator ? 'resolve-testvalidator' : 'resolve-testbase'
const ownText = readFileSync(fileURLToPath(import.meta.url))
const hash = createHash('sha256')
  .update(ownText)
  .update(process.version)
  .update(process.arch)
  .digest('hex')
  .slice(0, 12)
const image = `${name}:${hash}`

if (!isThere()) {
  // One process at a time, also across checkouts.
  const held = join(PLACE, 'resolve-testbase')
  mkdirSync(held, { recursive: true })
  await withTaskLock(held, async () => {
    if (!isThere()) make()
  })
}
console.log(image)

function isThere() {
  try {
    run('docker', ['image', 'inspect', image])
    return true
  } catch {
    return false
  }
}

function make() {
  // Not in /tmp, which may be small, in memory, or mounted without devices.
  const work = mkdtempSync(join(PLACE, 'resolve-testbase-'))
  try {
    const root = join(work, 'root')
    run('debootstrap', ['--variant=minbase', `--include=${packages.join(',')}`, SUITE, root])
    copyFileSync(process.execPath, join(root, 'usr/local/bin/node'))
    chmodSync(join(root, 'usr/local/bin/node'), 0o755)
    appendFileSync(join(root, 'etc/passwd'), 'resolver:x:1000:1000::/home/resolver:/bin/sh\n')
    appendFileSync(join(root, 'etc/group'), 'resolver:x:1000:\n')
    mkdirSync(join(root, 'home/resolver'))
    run('chown', ['1000:1000', join(root, 'home/resolver')])
    const changes = [
      `LABEL resolve.${forValidator ? 'validator' : 'testbase'}=1`,
      'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ]
    const tarball = join(work, 'root.tar')
    run('tar', ['-C', root, '--numeric-owner', '--exclude=./var/cache/apt/archives/*.deb', '-cf', tarball, '.'])
    run('docker', ['import', ...changes.flatMap((change) => ['--change', change]), tarball, image])
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Runs a program quietly; its output is shown only when it fails. */
function run(program, args) {
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1024 * 1024 })
}
