/** Facts about this installation: the package directory, the version, the socket server. Set once by main.ts. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SocketApi } from '../../core/index.ts'

interface Surroundings {
  /** The package's directory, the one with package.json. */
  root: string
  version: string
  /** Opens the socket on which this process serves its instances to other processes; code below src/server cannot import it. */
  socketApi?: SocketApi
}

let known: Surroundings = { root: process.cwd(), version: '0.0.0' }

export function setSurroundings(surroundings: Surroundings): void {
  known = surroundings
}

export function surroundings(): Readonly<Surroundings> {
  return known
}

/** The directory of the built-in resolvers: the built ones if there is a build, else their sources. */
export function builtinsDirectory(): string {
  const built = join(known.root, 'dist', 'resolvers')
  return existsSync(built) ? built : join(known.root, 'src', 'resolvers')
}

/** The folder of the built web page; undefined where it is not built. */
export function pageDirectory(): string | undefined {
  const built = join(known.root, 'dist', 'web')
  return existsSync(join(built, 'index.html')) ? built : undefined
}

export function isCi(env: NodeJS.ProcessEnv = process.env): boolean {
  const value = env['CI']
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

/** Whether this is a job of GitHub Actions; its runner reads workflow commands from both streams. */
export function isGithub(env: NodeJS.ProcessEnv = process.env): boolean {
  return env['GITHUB_ACTIONS'] === 'true'
}

/** Whether output is for a screen reader: plain lines, each printed once, and no redrawing. */
export function isScreenReader(env: NodeJS.ProcessEnv = process.env): boolean {
  return [env['RESOLVE_SCREEN_READER'], env['INK_SCREEN_READER']].some(
    (value) => value !== undefined && !['', '0', 'false'].includes(value),
  )
}
