/**
 * Images of prompts and of tools, as files among the outputs of a session: lines of the transcript name them, and a request takes their bytes. A file is
 * named by its content, because commands of a session can write here.
 */
import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { IMAGE_MAX_BYTES, SESSION_IMAGES_MAX_BYTES } from '../../core/limits.ts'
import { OUTPUTS_DIR } from '../../core/protocol/session/session.ts'

/** As a line of the transcript has it. */
export interface KeptImage {
  file: string
  media_type: string
  bytes: number
  /** The path that the prompt named. */
  name?: string
}

/** undefined where there is no room left. `directory`: of the session. */
export function keepImage(directory: string, mediaType: string, bytes: Buffer): KeptImage | undefined {
  const outputs = join(directory, OUTPUTS_DIR)
  const file = imageFile(bytes)
  const kept = { file, media_type: mediaType, bytes: bytes.length }
  if (readImage(directory, file) !== undefined) return kept
  try {
    const sizes = readdirSync(outputs)
      .filter((name) => NAME.test(name))
      .map((name) => statSync(join(outputs, name), { throwIfNoEntry: false })?.size ?? 0)
    if (sizes.reduce((sum, one) => sum + one, bytes.length) > SESSION_IMAGES_MAX_BYTES) return undefined
    // Whole under its name, or not there.
    const draft = join(outputs, `.${file}.${process.pid}.tmp`)
    writeFileSync(draft, bytes, { mode: 0o600 })
    renameSync(draft, join(outputs, file))
    return kept
  } catch {
    // A full disk costs the image, not the run.
    return undefined
  }
}

/** undefined where it is not there as it was kept. */
export function readImage(directory: string, file: string): Buffer | undefined {
  if (!NAME.test(file)) return undefined
  let fd: number
  try {
    fd = openSync(join(directory, OUTPUTS_DIR, file), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > IMAGE_MAX_BYTES) return undefined
    const bytes = Buffer.alloc(stat.size)
    const read = readSync(fd, bytes, 0, bytes.length, 0)
    return file === imageFile(bytes.subarray(0, read)) ? bytes.subarray(0, read) : undefined
  } catch {
    return undefined
  } finally {
    closeSync(fd)
  }
}

export function imageFile(bytes: Buffer): string {
  return `image-${hashOf(bytes)}`
}

const NAME = /^image-[0-9a-f]{32}$/

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

/** How a message names an image until it is sent. */
export const IMAGE_MARK = 'kept-image:'
