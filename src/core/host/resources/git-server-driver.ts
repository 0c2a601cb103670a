/** How the git server of an instance runs: a process beside local workers, a container beside those in Docker. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { installedFile } from '../../files/installation.ts'
import { writeWholeSync } from '../../files/write-whole.ts'
import { GIT_SERVER_URL, openGitContainer, removeGitContainer } from '../../git-server/container-server.ts'
import type { HostDoor } from '../../git-server/host-door.ts'
import { localServerUrl, openLocalGitServer, stopLocalGitServer } from '../../git-server/local-server.ts'
import { type GitServerPlaces, newGitToken } from '../../git-server/server-places.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import { homeLabel, workerUser } from '../../worker/engine/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { chooseImage } from '../../worker/engine/worker-image.ts'

export interface GitServerDriver {
  /** The running server, or a new one on the same directory. Throws `git_server_failed`, `docker_unreachable`, `container_refused`. */
  open(token: string, network: string): Promise<{ door: HostDoor; baseUrl: string }>
  /** Its directory stays. */
  stop(token: string): Promise<void>
  /** The address of the server that an earlier host started; undefined where there was none. */
  lastUrl(): string | undefined
  /** The user of the server's files, where it is not the host's. */
  owner: { uid: number; gid: number } | undefined
  /** The directory of create-pr and its helper, as the worker sees it. */
  tools: string
}

const CONTAINER_TOOLS = '/usr/local/bin'

export function gitServerDriver(
  { instance_id: instance, executor }: CreationRecord,
  home: string,
  places: GitServerPlaces,
): GitServerDriver {
  if (executor === 'local') {
    return {
      open: (token) => openLocalGitServer(places, token),
      stop: (token) => stopLocalGitServer(places, token),
      lastUrl: () => localServerUrl(places),
      owner: undefined,
      tools: toolsDirectory() ?? '',
    }
  }
  return {
    open: (token, network) => {
      const plan = { instance, home: homeLabel(home), image: chooseImage(null).name, network, places }
      return openGitContainer(theEngine(), plan, token)
    },
    stop: () => removeGitContainer(theEngine(), instance),
    lastUrl: () => GIT_SERVER_URL,
    owner: process.getuid?.() === 0 ? workerUser() : undefined,
    tools: CONTAINER_TOOLS,
  }
}

/** Where create-pr and git-credential-resolve are on this machine. */
export function toolsDirectory(): string | undefined {
  const tool = installedFile('templates/worker/bin/create-pr')
  return tool === undefined ? undefined : dirname(tool)
}

/** The token of the instance, kept for the next host; the server has only its digest. */
export function readGitToken(path: string): string | undefined {
  try {
    const token = readFileSync(path, 'utf8').trim()
    return /^[0-9a-f]{64}$/.test(token) ? token : undefined
  } catch {
    return undefined
  }
}

export function makeGitToken(path: string): string {
  const token = newGitToken()
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeWholeSync(path, `${token}\n`, { durable: true })
  return token
}

export function forgetGitToken(path: string): void {
  rmSync(path, { force: true })
}
