/**
 * Files that a question shows (docs/pipelines.md, Nodes): `attachments_inline` in its text, `attachments_ref` by name. Both become data files of the execution, so that
 * they are there as they were when it was asked.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { matcherOf, readPattern } from '../../sessions/search/patterns.ts'
import { walk } from '../../sessions/search/walk.ts'
import { listOf } from '../check/rules.ts'
import type { Execution } from '../walks/walk.ts'
import type { Run } from './run-parts.ts'
import { attributeOf } from './texts.ts'

const FILES_MAX = 20
const FILE_MAX_BYTES = 100 * 1024
/** Of all that stand in the text of a question: it is read by a person, and bounded by the platform. */
const INLINE_MAX_CHARS = 12_000

/** What follows the text of the question; empty for none. `problem` names a pattern that can't be used. */
export async function attachmentsOf(
  run: Run,
  execution: Execution,
  dir: string,
): Promise<{ text: string } | { problem: string }> {
  const inline = await filesOf(run, execution, 'attachments_inline')
  const named = await filesOf(run, execution, 'attachments_ref')
  for (const found of [inline, named]) if ('problem' in found) return found
  const parts: string[] = []
  let left = INLINE_MAX_CHARS
  for (const [found, isInline] of [
    [inline, true],
    [named, false],
  ] as const) {
    if ('problem' in found) continue
    for (const path of found.paths) {
      const read = await readSmall(join(run.ctx.workingDirectory, path))
      if (read === undefined) parts.push(`- \`${path}\`: has more than 100 KiB, or is no file`)
      else {
        await run.files.write(dir, `attachments/${path}`, read)
        const isShown = isInline && read.length <= left && !read.includes('\0')
        parts.push(
          isShown ? `\`${path}\`:\n\n${fenced(read)}` : `- \`${path}\` (in \`nodes/${dir}/attachments/${path}\`)`,
        )
        if (isShown) left -= read.length
      }
    }
    if (found.more > 0) parts.push(`- and ${found.more} more`)
  }
  return { text: parts.join('\n\n') }
}

async function filesOf(
  { ctx }: Run,
  execution: Execution,
  attribute: string,
): Promise<{ paths: string[]; more: number } | { problem: string }> {
  const all = new Set<string>()
  for (const pattern of listOf(attributeOf(execution, attribute) ?? '')) {
    const read = readPattern(pattern, ctx.workingDirectory)
    if ('problem' in read) return { problem: `${attribute} of "${execution.node.id}": ${read.problem}` }
    const { lines } = await walk(ctx.workingDirectory, matcherOf(read.patterns), () => true, execution.signal)
    for (const path of lines) all.add(path)
  }
  const paths = [...all]
  return { paths: paths.slice(0, FILES_MAX), more: Math.max(0, paths.length - FILES_MAX) }
}

/** undefined for what is no regular file, and for a large one. Follows no link: nodes write to this directory. */
async function readSmall(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = await file.stat()
    if (!stat.isFile() || stat.size > FILE_MAX_BYTES) return undefined
    const { bytesRead, buffer } = await file.read(Buffer.alloc(FILE_MAX_BYTES), 0, FILE_MAX_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } catch {
    return undefined
  }
}

/** A fence that is longer than every one in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`
}
