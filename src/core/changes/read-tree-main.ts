/**
 * The program in the container of {@link file://./read-tree-in-container.ts}: reads a clone below /project into /git, and packs what is new for the host. Built
 * to dist/read-tree.js.
 */
import { realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BareGit, COMMIT } from '../git/bare-git.ts'
import { SNAPSHOT_LIMIT_MS } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { readTree } from './read-tree.ts'

const GIT = '/git'

const asked: unknown = JSON.parse(process.argv[2] ?? '{}')
const { repo, start, known } = isObject(asked) ? asked : {}
const isId = (one: unknown): one is string => typeof one === 'string' && COMMIT.test(one)
const deadline = Date.now() + SNAPSHOT_LIMIT_MS
const from = isId(start) ? start : null
const tree = join('/project/workspace', String(repo))
// The worker may have put a link in its place.
if ((await realpath(tree)) !== tree) process.exit(1)
const found = await readTree({ gitDir: GIT, tree, start: from, deadline })
const git = new BareGit({ fails: 'work_unreadable', path: GIT, deadline })
const revisions = [
  found.tree,
  '--not',
  ...(from === null ? [] : [from]),
  ...(Array.isArray(known) ? known : []).filter(isId),
]
const input = Buffer.from(`${revisions.join('\n')}\n`)
const name = (
  await git.run(['pack-objects', '--revs', '--quiet', '--non-empty', `${GIT}/out`], { input })
).stdout.trim()
if (name !== '') await rename(`${GIT}/out-${name}.pack`, `${GIT}/result.pack`)
for (const end of ['idx', 'rev']) await rm(`${GIT}/out-${name}.${end}`, { force: true })
await writeFile(`${GIT}/result.json`, JSON.stringify(found))
