/** Reads the feature spec that a command was given: a file, or `-` for stdin. */
import { open } from 'node:fs/promises'
import { fail, systemCode } from '../../core/errors.ts'
import { FEATURE_SPEC_MAX_BYTES } from '../../core/limits.ts'

export interface GivenSpec {
  /** How messages name it: the word that was given. */
  label: string
  text: string
}

/** Throws `spec_missing`, `spec_unreadable`. At most one byte more than a spec may have is read: the check tells that it is too large. */
export async function givenSpec(word: string): Promise<GivenSpec> {
  if (word === '-') return { label: '-', text: toText(await readAll(process.stdin), 'stdin') }
  const unreadable = (reason: string, cause?: unknown) => fail('spec_unreadable', { path: word, reason }, { cause })
  const file = await open(word, 'r').catch((error: unknown) => {
    const code = systemCode(error)
    throw code === 'ENOENT' || code === 'ENOTDIR'
      ? fail('spec_missing', { path: word })
      : unreadable(code ?? 'unknown error', error)
  })
  try {
    if ((await file.stat()).isDirectory()) throw unreadable('it is a directory')
    return { label: word, text: toText(await readAll(file.createReadStream({ autoClose: false })), word) }
  } finally {
    await file.close()
  }
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    length += chunk.length
    if (length > FEATURE_SPEC_MAX_BYTES) break
  }
  return Buffer.concat(chunks)
}

/** A text that was cut off within a character is too large anyway. */
function toText(bytes: Buffer, label: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: bytes.length <= FEATURE_SPEC_MAX_BYTES }).decode(bytes)
  } catch {
    throw fail('spec_unreadable', { path: label, reason: 'it is not UTF-8 text' })
  }
}
