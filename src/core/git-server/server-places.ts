/** Where the git server of an instance keeps its files, and what the host writes there before it starts. */
import { createHash, randomBytes } from 'node:crypto'
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeWholeSync } from '../files/write-whole.ts'

export interface GitServerPlaces {
  /** The server's own directory: mounted into its container, never trusted. */
  state: string
  repos: string
  /** How to reach a local server again; the host's own file, beside the server's directory. */
  record: string
  log: string
}

/** `git`: the directory for git of an instance. */
export function gitServerPlaces(git: string): GitServerPlaces {
  const state = join(git, 'server')
  return { state, repos: join(state, 'repos'), record: join(git, 'server.json'), log: join(git, 'server.log') }
}

export function newGitToken(): string {
  return randomBytes(32).toString('hex')
}

/** The token itself is nowhere in the server's directory. `owner`: the user that the server runs as, where it is not the host's. */
export function prepareGitServer(
  places: GitServerPlaces,
  token: string,
  owner?: { uid: number; gid: number } | undefined,
): void {
  for (const directory of [places.state, places.repos]) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    if (owner !== undefined) chownSync(directory, owner.uid, owner.gid)
  }
  const digest = createHash('sha256').update(token).digest('hex')
  writeWholeSync(join(places.state, 'tokens.json'), JSON.stringify({ sha256: [digest] }), { durable: true, owner })
}
