/** Small real things for the catalog's tests: folders, manifests, and git repositories that are reached without a network. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder of its own that goes when the test is over. */
export function room(): string {
  const path = mkdtempSync(join(tmpdir(), 'resolve-catalog-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export function manifest(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { name, version: '1.0.0', description: `Does what ${name} does`, command: ['node', 'resolver.js'], ...more }
}

/** Writes files below a folder; an object is written as JSON. */
export function write(folder: string, files: Record<string, unknown>): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  }
  return folder
}

/** A directory that holds a resolver. */
export function resolverDir(name: string, more: Record<string, unknown> = {}): string {
  return write(join(room(), name), { 'manifest.json': manifest(name, more), 'resolver.js': '' })
}

/** A folder of built-in resolvers. */
export function builtinsDir(...names: string[]): string {
  const folder = room()
  for (const name of names) write(folder, { [`${name}/manifest.json`]: manifest(name) })
  return folder
}

export interface Repository {
  /** For `resolver add`, without a ref. */
  source: string
  /** For git itself. */
  url: string
  work: string
  git(...args: string[]): string
  /** Writes, commits and publishes; answers the commit. */
  publish(files: Record<string, unknown>, branch?: string): string
}

/** A bare repository and a checkout to change it from. */
export function repository(): Repository {
  const base = room()
  const bare = join(base, 'bare.git')
  const work = join(base, 'work')
  const env = { PATH: process.env['PATH'], HOME: base, GIT_CONFIG_NOSYSTEM: '1' }
  const run = (cwd: string, args: string[]) =>
    execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim()
  run(base, ['init', '--quiet', '--bare', '--initial-branch=main', bare])
  run(base, ['init', '--quiet', '--initial-branch=main', work])
  run(work, ['config', 'user.email', 'author@example.org'])
  run(work, ['config', 'user.name', 'Author'])
  run(work, ['remote', 'add', 'origin', bare])
  const git = (...args: string[]) => run(work, args)
  return {
    source: `git+file://${bare}`,
    url: `file://${bare}`,
    work,
    git,
    publish(files, branch = 'main') {
      git('checkout', '--quiet', '-B', branch)
      write(work, files)
      git('add', '--all')
      git('commit', '--quiet', '--message', 'change')
      git('push', '--quiet', '--force', '--tags', 'origin', branch)
      return git('rev-parse', 'HEAD')
    },
  }
}
