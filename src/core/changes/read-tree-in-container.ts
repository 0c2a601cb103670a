/**
 * Reads the tree of a clone that belongs to a worker in a container: in a container of its own, without network, with the clone read-only. On
 * the host, which may be root, a directory that is swapped for a link could put a file of the host into a snapshot.
 */
import { randomBytes } from 'node:crypto'
import { copyFile, lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fail } from '../errors.ts'
import { giveTo } from '../files/give-to.ts'
import { installedFile } from '../files/installation.ts'
import { BareGit, COMMIT } from '../git/bare-git.ts'
import { runGit } from '../git/run-git.ts'
import { ENGINE_START_LIMIT_MS, KIB, MIB, SNAPSHOT_TOTAL_MAX_BYTES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { homeLabel, workerUser } from '../worker/engine/container-places.ts'
import { theEngine, toRefusal } from '../worker/engine/engine.ts'
import { bindMount, hardened } from '../worker/engine/hardening.ts'
import { removeContainer } from '../worker/engine/remove-container.ts'
import { chooseImage } from '../worker/engine/worker-image.ts'
import type { ReadTree, TreeWork } from './read-tree.ts'
import { parseSkipped, parseSkippedTotal } from './skipped-paths.ts'

export interface TreeOwner {
  home: string
  instance: string
  repo: string
  /** The directory for git of the instance. */
  directory: string
}

const PROGRAM = '/usr/local/lib/resolve/read-tree.js'
const ROLE = 'tree'
const MEMORY_BYTES = 1024 * MIB
const PIDS_MAX = 64
const LOOK_LIMIT_MS = 5_000
const RESULT_MAX_BYTES = 256 * KIB

/** For {@link file://./snapshot.ts}. Throws `work_unreadable`, `container_refused`, `docker_unreachable`. */
export function readTreeInContainer(owner: TreeOwner): (work: TreeWork) => Promise<ReadTree> {
  return async (work) => {
    const scratch = join(owner.directory, 'trees', `${owner.repo}.git`)
    await prepareScratch(scratch, work)
    await runProgram(owner, scratch, work)
    const found = await readResult(join(scratch, 'result.json'))
    const git = new BareGit({
      fails: 'work_unreadable',
      path: work.gitDir,
      deadline: work.deadline,
      signal: work.signal,
    })
    await takePack(git, join(scratch, 'result.pack'), work.gitDir)
    // All that the tree names is here.
    await git.run(['rev-list', '--objects', '--quiet', found.tree])
    return found
  }
}

/** A git directory that the container may write to: index and new objects. The host runs git in it only here, where it is new. */
async function prepareScratch(path: string, { deadline, signal, start }: TreeWork): Promise<void> {
  await rm(join(path, 'result.json'), { force: true })
  await rm(join(path, 'result.pack'), { force: true })
  if ((await lstat(path).catch(() => undefined)) !== undefined) return
  const draft = `${path}.new`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  const format = start?.length === 64 ? 'sha256' : 'sha1'
  const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, '.']
  const end = await runGit({
    args,
    cwd: draft,
    protocols: 'none',
    deadline,
    signal,
    maxBytes: Number.POSITIVE_INFINITY,
  })
  if (end.kind !== 'done') throw fail('work_unreadable', { reason: 'git init failed.' })
  await mkdir(join(draft, 'info'), { recursive: true })
  await mkdir(join(draft, 'objects', 'info'), { recursive: true })
  await writeFile(join(draft, 'objects', 'info', 'alternates'), '/base\n')
  if (process.getuid?.() === 0) await giveTo(draft, workerUser())
  await rename(draft, path)
}

/** Runs {@link file://./read-tree-main.ts}. */
async function runProgram(owner: TreeOwner, scratch: string, work: TreeWork): Promise<void> {
  const program = installedFile('read-tree.js')
  if (program === undefined) throw fail('work_unreadable', { reason: 'dist/read-tree.js is missing.' })
  const engine = theEngine()
  const mounts = [
    // Not the clone: the worker may put a link in its place, which the engine would follow on this machine.
    bindMount(dirname(dirname(work.tree)), '/project', true),
    bindMount(scratch, '/git', false),
    bindMount(join(work.gitDir, 'objects'), '/base', true),
    bindMount(program, PROGRAM, true),
  ]
  const spec = treeContainerSpec(owner, work, mounts)
  try {
    const { id } = await engine.call(
      (docker, abortSignal) => docker.createContainer({ ...spec, abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
    try {
      const limitMs = Math.max(LOOK_LIMIT_MS, work.deadline - Date.now())
      await engine.call((docker, abortSignal) => docker.getContainer(id).start({ abortSignal }), ENGINE_START_LIMIT_MS)
      const { StatusCode: code } = await engine.call(
        (docker, abortSignal) => docker.getContainer(id).wait({ abortSignal }),
        limitMs,
      )
      if (code !== 0) throw fail('work_unreadable', { reason: `reading it ended with code ${code}.` })
    } finally {
      await removeContainer(engine, id)
    }
  } catch (error) {
    throw toRefusal(error, 'read the workspace')
  }
}

/** The body of `POST /containers/create`. Pure. */
function treeContainerSpec(owner: TreeOwner, work: TreeWork, mounts: ReturnType<typeof bindMount>[]) {
  const { uid, gid } = workerUser()
  return {
    name: `resolve-${owner.instance}-${ROLE}-${randomBytes(4).toString('hex')}`,
    Image: chooseImage(null).name,
    Labels: { 'resolve.home': homeLabel(owner.home), 'resolve.role': ROLE, 'resolve.instance': owner.instance },
    User: `${uid}:${gid}`,
    WorkingDir: '/tmp',
    Env: ['HOME=/tmp', 'NODE_OPTIONS=--max-old-space-size=256'],
    Entrypoint: [],
    Cmd: ['node', PROGRAM, JSON.stringify({ repo: owner.repo, start: work.start, known: work.known ?? [] })],
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      ...hardened({ pids: PIDS_MAX, memoryBytes: MEMORY_BYTES, cpus: 1 }),
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': `rw,noexec,nosuid,nodev,size=${16 * MIB}` },
      NetworkMode: 'none',
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
      Mounts: mounts,
    },
  }
}

/** What the container wrote is untrusted. */
async function readResult(path: string): Promise<ReadTree> {
  const broken = () => fail('work_unreadable', { reason: 'its tree cannot be read.' })
  const found = await lstat(path).catch(() => undefined)
  if (found?.isFile() !== true || found.size > RESULT_MAX_BYTES) throw broken()
  const value: unknown = JSON.parse(await readFile(path, 'utf8'))
  if (!isObject(value) || typeof value['tree'] !== 'string' || !COMMIT.test(value['tree'])) throw broken()
  const skipped = parseSkipped(value['skipped'])
  return { tree: value['tree'], skipped, skippedTotal: parseSkippedTotal(value['skippedTotal'], skipped.length) }
}

/** Into the host's repository, every object checked; absent where there is no new object. */
async function takePack(git: BareGit, from: string, gitDir: string): Promise<void> {
  const found = await lstat(from).catch(() => undefined)
  if (found === undefined) return
  if (!found.isFile() || found.size > SNAPSHOT_TOTAL_MAX_BYTES) {
    throw fail('work_unreadable', { reason: 'its changes are too large.' })
  }
  const name = randomBytes(20).toString('hex')
  const draft = join(gitDir, 'objects', 'pack', `tmp_${name}`)
  const kept = join(gitDir, 'objects', 'pack', `pack-${name}`)
  try {
    await mkdir(join(gitDir, 'objects', 'pack'), { recursive: true })
    await copyFile(from, `${draft}.pack`)
    await git.run(['index-pack', '--strict', '-o', `${draft}.idx`, `${draft}.pack`])
    await rename(`${draft}.pack`, `${kept}.pack`)
    await rename(`${draft}.idx`, `${kept}.idx`)
  } finally {
    for (const end of ['pack', 'idx', 'rev']) await rm(`${draft}.${end}`, { force: true })
  }
}
