/** A home, a repository with the software that a test gives, and `resolve check run` on it in a process of its own. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { CheckResult } from '../../src/core/protocol/check/reality-check.ts'
import { testImage } from '../support/docker.ts'
import { temporaryHome } from '../support/instances.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export interface Ended {
  code: number | null
  stderr: string
  /** The document of --json. */
  document: {
    exit_code?: number
    status?: string
    instance_id?: string
    error?: { code: string; message: string }
    check?: CheckResult
  }
}

/** A git repository with one commit of these files. */
export function repositoryOf(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'resolve-checked-'))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: directory })
  git('init', '--quiet')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'All')
  return directory
}

export interface CheckStand {
  home: string
  run(files: Readonly<Record<string, string>>, criteria: unknown, ...flags: string[]): Promise<Ended>
}

/** Its validator starts from the image of the tests, which has no Chromium, where no other one is given. */
export function checkStand(validatorImage?: string): CheckStand {
  const home = temporaryHome()
  const image = testImage()
  const images = { RESOLVE_WORKER_IMAGE: image, RESOLVE_VALIDATOR_IMAGE: validatorImage ?? image }
  return {
    home,
    run: async (files, criteria, ...flags) => {
      const path = join(
        mkdtempSync(join(tmpdir(), 'resolve-criteria-')),
        typeof criteria === 'string' ? 'criteria.md' : 'criteria.json',
      )
      writeFileSync(path, typeof criteria === 'string' ? criteria : JSON.stringify(criteria))
      return await ended({ RESOLVE_HOME: home, ...images }, [
        'check',
        'run',
        '--software',
        repositoryOf(files),
        '--criteria',
        path,
        '--json',
        ...flags,
      ])
    },
  }
}

function ended(variables: Readonly<Record<string, string>>, args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'run.js'), ...args], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
  })
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const document = out.trimStart().startsWith('{') ? (JSON.parse(out) as Ended['document']) : {}
      resolve({ code, stderr: `${stderr}${out.slice(0, 2_000)}`, document })
    })
  })
}

/** `resolve` in a process of its own, with the settings of a check. */
export function checkProgram(home: string, image: string) {
  const env = { ...process.env, RESOLVE_HOME: home, RESOLVE_WORKER_IMAGE: image, RESOLVE_VALIDATOR_IMAGE: image }
  const [file, args] = [process.execPath, [join(ROOT, 'bin', 'run.js')]]
  const run = (words: string[], more: NodeJS.ProcessEnv = {}) =>
    new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
      const child = spawn(file, [...args, ...words], { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] })
      const said = { stdout: '', stderr: '' }
      for (const name of ['stdout', 'stderr'] as const)
        child[name].on('data', (chunk) => {
          said[name] += String(chunk)
        })
      child.on('close', (code) => resolve({ code, ...said }))
    })
  return { file, args, env, run }
}
