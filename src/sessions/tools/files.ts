/** The tools read, write and edit. What is written was read before, so that nothing is overwritten unseen. */
import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  IMAGE_MAX_BYTES,
  TOOL_EDITS_MAX,
  TOOL_LINE_MAX_CHARS,
  TOOL_READ_FILE_MAX_BYTES,
  TOOL_READ_LINES,
  TOOL_WRITE_MAX_BYTES,
} from '../../core/limits.ts'
import { count, flag, listOf, object, optional, type Static, text } from '../../core/schema/schema.ts'
import { applyEdits } from './apply-edits.ts'
import { imageType } from './image-type.ts'
import { type Place, stampOf } from './place.ts'
import { mistaken, type Tool, type ToolOutput, told } from './tool.ts'

/** The files that a session has read, as they were then. */
export type Seen = Map<string, string | undefined>

const readInput = object({
  path: text({ description: 'Of a file or directory, absolute or from the working directory' }),
  offset: optional(count({ minimum: 1, description: 'The first line; 1 by default' })),
  limit: optional(count({ minimum: 1, description: `How many lines; ${TOOL_READ_LINES} by default and at most` })),
})

export function readTool(place: Place, seen: Seen): Tool {
  return {
    name: 'read',
    description: `Reads a text file, with line numbers, shows an image (png, jpeg, gif, webp), or lists a directory. At most ${TOOL_READ_LINES} lines; use offset and limit for more.`,
    input: readInput,
    effect: 'reads',
    async run(input, { maxBytes }) {
      const { path, offset = 1, limit = TOOL_READ_LINES } = input as Static<typeof readInput>
      const found = place.find(path, 'read')
      if ('refused' in found) return mistaken(found.refused)
      const stat = statSync(found.path, { throwIfNoEntry: false })
      if (stat === undefined) return mistaken(`There is no ${path}.`)
      if (stat.isDirectory()) return told(listing(found.path))
      if (!stat.isFile()) return mistaken(`${path} is not a regular file.`)
      if (stat.size > TOOL_READ_FILE_MAX_BYTES)
        return mistaken(`${path} has ${stat.size} bytes. Use search, or a command.`)
      const stamp = stampOf(found.path)
      const bytes = readRegular(found.path)
      if (bytes === undefined) return mistaken(`${path} is not a regular file.`)
      const mediaType = imageType(bytes)
      if (mediaType !== undefined) return imageOutput(path, mediaType, bytes)
      if (bytes.subarray(0, 8_000).includes(0)) return mistaken(`${path} is not text (${stat.size} bytes).`)
      seen.set(found.path, stamp)
      return told(numbered(bytes.toString('utf8'), offset, Math.min(limit, TOOL_READ_LINES), maxBytes))
    },
  }
}

function imageOutput(path: string, mediaType: string, bytes: Buffer): ToolOutput {
  if (bytes.length > IMAGE_MAX_BYTES)
    return mistaken(
      `${path} is an image of ${bytes.length} bytes, and at most ${IMAGE_MAX_BYTES} are shown. Make it smaller.`,
    )
  return { text: `[${path}: ${mediaType}, ${bytes.length} bytes]`, image: { mediaType, bytes } }
}

/** A command in the background may put a FIFO there after it was looked at. At most TOOL_READ_FILE_MAX_BYTES. */
export function readRegular(path: string): Buffer | undefined {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    if (!fstatSync(fd).isFile()) return undefined
    const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, TOOL_READ_FILE_MAX_BYTES))
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}

function listing(path: string): string {
  const entries = readdirSync(path, { withFileTypes: true }).map((one) =>
    one.isDirectory() ? `${one.name}/` : one.name,
  )
  const shown = entries.sort().slice(0, LISTED_MAX)
  const more = entries.length > LISTED_MAX ? [`[${entries.length - LISTED_MAX} more; use glob]`] : []
  return [...shown, ...more].join('\n') || '[an empty directory]'
}

const LISTED_MAX = 1_000

function numbered(content: string, offset: number, limit: number, maxBytes: number): string {
  const lines = content.split('\n')
  if (lines.at(-1) === '') lines.pop()
  if (lines.length === 0) return '[an empty file]'
  if (offset > lines.length) return `[the file has ${lines.length} lines]`
  const shown: string[] = []
  let bytes = 0
  for (const line of lines.slice(offset - 1, offset - 1 + limit)) {
    const cut = line.length > TOOL_LINE_MAX_CHARS ? `${line.slice(0, TOOL_LINE_MAX_CHARS)} [line cut]` : line
    const row = `${String(offset + shown.length).padStart(6)}\t${cut.replace(/\r$/, '')}`
    bytes += Buffer.byteLength(row) + 1
    if (bytes > maxBytes && shown.length > 0) break
    shown.push(row)
  }
  const next = offset + shown.length
  if (next > lines.length) return shown.join('\n')
  return `${shown.join('\n')}\n[lines ${offset} to ${next - 1} of ${lines.length}; go on with offset ${next}]`
}

const writeInput = object({ path: text(), content: text() })

export function writeTool(place: Place, seen: Seen): Tool {
  return {
    name: 'write',
    description: 'Writes a whole file. A file that exists must have been read before; to change a part, use edit.',
    input: writeInput,
    effect: 'writes',
    async run(input) {
      const { path, content } = input as Static<typeof writeInput>
      if (Buffer.byteLength(content) > TOOL_WRITE_MAX_BYTES)
        return mistaken(`At most ${TOOL_WRITE_MAX_BYTES} bytes can be written.`)
      const found = place.find(path, 'write')
      if ('refused' in found) return mistaken(found.refused)
      const before = stampOf(found.path)
      if (before !== undefined) {
        const problem = unseen(path, found.path, before, seen)
        if (problem !== undefined) return problem
      }
      writeWhole(found.path, content)
      seen.set(found.path, stampOf(found.path))
      return told(`${before === undefined ? 'Created' : 'Wrote'} ${path} (${Buffer.byteLength(content)} bytes).`)
    },
  }
}

const editInput = object({
  path: text(),
  old_string: optional(text({ description: 'Exact text, with its spaces; it must occur once, unless replace_all' })),
  new_string: optional(text()),
  replace_all: optional(flag()),
  edits: optional(
    listOf(object({ old_string: text(), new_string: text(), replace_all: optional(flag()) }), {
      maxItems: TOOL_EDITS_MAX,
      description: 'Several edits of one file, each against its content before the call',
    }),
  ),
})

export function editTool(place: Place, seen: Seen): Tool {
  return {
    name: 'edit',
    description: 'Replaces exact text in a file that was read before. All edits of a call are made, or none.',
    input: editInput,
    effect: 'writes',
    async run(input) {
      const { path, edits = [], old_string, new_string, replace_all = false } = input as Static<typeof editInput>
      const own = old_string === undefined ? [] : [{ old_string, new_string: new_string ?? '', replace_all }]
      const all = [...own, ...edits]
      if (all.length === 0) return mistaken('Give old_string and new_string, or edits.')
      const found = place.find(path, 'write')
      if ('refused' in found) return mistaken(found.refused)
      const before = stampOf(found.path)
      if (before === undefined) return mistaken(`There is no ${path}. Use write to create it.`)
      const problem = unseen(path, found.path, before, seen)
      if (problem !== undefined) return problem
      const bytes = readRegular(found.path)
      if (bytes === undefined) return mistaken(`${path} is not a regular file.`)
      if (!isUtf8(bytes)) return mistaken(`${path} is not UTF-8 text. Use a command.`)
      const edited = applyEdits(bytes.toString('utf8'), all)
      if ('problem' in edited) return mistaken(`${path} is unchanged: ${edited.problem}`)
      writeWhole(found.path, edited.text)
      seen.set(found.path, stampOf(found.path))
      return told(`Changed ${path}: ${edited.replaced} ${edited.replaced === 1 ? 'place' : 'places'}.`)
    },
  }
}

export function unseen(path: string, found: string, stamp: string, seen: Seen): ToolOutput | undefined {
  if (!statSync(found).isFile()) return mistaken(`${path} is not a regular file.`)
  if (!seen.has(found)) return mistaken(`Read ${path} before you change it.`)
  return seen.get(found) === stamp ? undefined : mistaken(`${path} has changed since you read it. Read it again.`)
}

/** Through a temporary name, so that a reader never sees half; the mode of a file stays. */
function writeWhole(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  const mode = statSync(path, { throwIfNoEntry: false })?.mode
  const draft = draftOf(path, content, mode)
  try {
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** A whole file beside the one that it is to become. */
export function draftOf(path: string, content: string, mode: number | undefined): string {
  const draft = join(dirname(path), `.${randomBytes(12).toString('hex')}.tmp`)
  try {
    writeFileSync(draft, content, { flag: 'wx' })
    if (mode !== undefined) chmodSync(draft, mode & 0o7777)
    return draft
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

const todoInput = object({
  items: listOf(object({ text: text(), status: text({ enum: ['pending', 'in_progress', 'completed'] }) }), {
    maxItems: 100,
  }),
})

/** The model's own list: writing it down again keeps it near the end of its context. */
export function todoTool(): Tool {
  return {
    name: 'todo_list',
    description: 'Keeps your list of tasks. Send the whole list each time.',
    input: todoInput,
    effect: 'reads',
    async run(input) {
      const { items } = input as Static<typeof todoInput>
      const done = items.filter(({ status }) => status === 'completed').length
      return told(
        `${done} of ${items.length} are completed.\n${items.map((one) => `[${one.status}] ${one.text}`).join('\n')}`,
      )
    },
  }
}
