/** The tool apply_patch: changes of several files in the format that OpenAI's models know. All of them are made, or none. */
import { isUtf8 } from 'node:buffer'
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { TOOL_PATCH_FILES_MAX, TOOL_WRITE_MAX_BYTES } from '../../core/limits.ts'
import { object, type Static, text } from '../../core/schema/schema.ts'
import { draftOf, readRegular, type Seen, unseen } from './files.ts'
import { applyChunks, type FileChange, parsePatch } from './patch.ts'
import { type Place, stampOf } from './place.ts'
import { mistaken, type Tool, told } from './tool.ts'

const patchInput = object({
  input: text({ description: 'The whole patch, from "*** Begin Patch" to "*** End Patch"' }),
})

export function applyPatchTool(place: Place, seen: Seen): Tool {
  return {
    name: 'apply_patch',
    description: DESCRIPTION,
    input: patchInput,
    effect: 'writes',
    async run(input) {
      const parsed = parsePatch((input as Static<typeof patchInput>).input)
      if ('problem' in parsed) return mistaken(`Nothing was changed. ${parsed.problem}`)
      const { changes } = parsed
      if (changes.length > TOOL_PATCH_FILES_MAX)
        return mistaken(`Nothing was changed. A patch changes at most ${TOOL_PATCH_FILES_MAX} files.`)
      const writes: Write[] = []
      for (const change of changes) {
        const planned = plan(change, place, seen)
        if ('problem' in planned) return mistaken(`Nothing was changed. ${planned.problem}`)
        writes.push(...planned.writes)
      }
      const twice = writes.find(({ path }, at) => writes.findIndex((one) => one.path === path) !== at)
      if (twice !== undefined) return mistaken(`Nothing was changed. ${twice.path} is in the patch twice.`)
      writeAll(writes)
      for (const { path, after } of writes) {
        if (after === undefined) seen.delete(path)
        else seen.set(path, stampOf(path))
      }
      return told(changes.map(lineOf).join('\n'))
    },
  }
}

const DESCRIPTION = `Changes files by a patch. A file that is updated or deleted must have been read before. The patch:
*** Begin Patch
*** Add File: <path>
+<each line of the new file>
*** Update File: <path>
*** Move to: <new path> (only to rename)
@@ <a line above the change, such as that of its function; may be left out>
 <3 lines that stay>
-<a line that goes>
+<a line that comes>
 <3 lines that stay>
*** Delete File: <path>
*** End Patch`

/** One path after the patch: `after` is undefined where it goes. */
interface Write {
  path: string
  before: Buffer | undefined
  mode: number | undefined
  after: string | undefined
}

function plan(change: FileChange, place: Place, seen: Seen): { writes: Write[] } | { problem: string } {
  const { kind, path } = change
  const found = place.find(path, 'write')
  if ('refused' in found) return { problem: found.refused }
  const stamp = stampOf(found.path)
  if (kind === 'add') {
    if (stamp !== undefined) return { problem: `${path} exists: update it, or delete it first.` }
    return written({ path: found.path, before: undefined, mode: undefined, after: change.content })
  }
  if (stamp === undefined) return { problem: `There is no ${path}.` }
  const problem = unseen(path, found.path, stamp, seen)
  const before = problem === undefined ? readRegular(found.path) : undefined
  if (before === undefined) return { problem: problem?.text ?? `${path} is not a regular file.` }
  const gone: Write = { path: found.path, before, mode: statSync(found.path).mode & 0o7777, after: undefined }
  if (kind === 'delete') return { writes: [gone] }
  if (!isUtf8(before)) return { problem: `${path} is not UTF-8 text. Use a command.` }
  const patched = applyChunks(before.toString('utf8'), change.chunks)
  if ('problem' in patched) return { problem: `${path}: ${patched.problem}` }
  if (change.to === undefined) return written({ ...gone, after: patched.text })
  const target = place.find(change.to, 'write')
  if ('refused' in target) return { problem: target.refused }
  if (stampOf(target.path) !== undefined) return { problem: `${change.to} exists.` }
  const moved = written({ path: target.path, before: undefined, mode: gone.mode, after: patched.text })
  return 'problem' in moved ? moved : { writes: [...moved.writes, gone] }
}

function written(write: Write): { writes: Write[] } | { problem: string } {
  return Buffer.byteLength(write.after ?? '') > TOOL_WRITE_MAX_BYTES
    ? { problem: `At most ${TOOL_WRITE_MAX_BYTES} bytes can be written to ${write.path}.` }
    : { writes: [write] }
}

/** All drafts are whole before the first file changes. What fails afterwards is undone. */
function writeAll(writes: readonly Write[]): void {
  const drafts = new Map<Write, string>()
  const done: Write[] = []
  try {
    for (const write of writes) {
      if (write.after === undefined) continue
      mkdirSync(dirname(write.path), { recursive: true })
      drafts.set(write, draftOf(write.path, write.after, write.mode))
    }
    for (const write of writes) {
      const draft = drafts.get(write)
      if (draft === undefined) rmSync(write.path)
      else renameSync(draft, write.path)
      drafts.delete(write)
      done.push(write)
    }
  } catch (error) {
    for (const { path, before, mode } of done.reverse()) {
      if (before === undefined) rmSync(path, { force: true })
      else writeFileSync(path, before, mode === undefined ? {} : { mode })
    }
    throw error
  } finally {
    for (const draft of drafts.values()) rmSync(draft, { force: true })
  }
}

function lineOf(change: FileChange): string {
  if (change.kind === 'add') return `Created ${change.path}.`
  if (change.kind === 'delete') return `Deleted ${change.path}.`
  return change.to === undefined ? `Changed ${change.path}.` : `Changed ${change.path}, which is now ${change.to}.`
}
