/**
 * The images of a prompt: read and checked before a model is asked, and kept beside the transcript. {@link file://./../session.ts} calls it. A
 * path is read once: a resumed turn has the image as it was then.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { fail } from '../../core/errors.ts'
import {
  IMAGE_MAX_BYTES,
  PROMPT_IMAGE_PATH_MAX_CHARS,
  REQUEST_IMAGES_MAX,
  REQUEST_IMAGES_MAX_BYTES,
} from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { PromptImage } from '../contract/contract.ts'
import { imageType } from '../tools/image-type.ts'
import type { Place } from '../tools/place.ts'
import { imageFile, type KeptImage, keepImage } from '../transcript/images.ts'

export interface ImagesOf {
  session: string
  /** Where paths may lead. */
  place: Place
  /** Of the session. */
  directory: string
}

/** Throws `session_image_refused`. */
export function takeImages(images: readonly PromptImage[], { session, place, directory }: ImagesOf): KeptImage[] {
  const refuse = (image: string, problem: string) => fail('session_image_refused', { session, image, problem })
  if (!Array.isArray(images)) throw refuse('images', 'it is no list')
  if (images.length > REQUEST_IMAGES_MAX)
    throw refuse(`${images.length} images`, `a prompt has at most ${REQUEST_IMAGES_MAX}`)
  let left = REQUEST_IMAGES_MAX_BYTES
  const read = images.map((image: PromptImage, at) => {
    const shown = typeof image === 'string' ? image.slice(0, SHOWN_CHARS) : `image ${at + 1}`
    const found = typeof image === 'string' ? readPath(image, place) : readGiven(image)
    if ('problem' in found) throw refuse(shown, found.problem)
    left -= found.bytes.length
    if (left < 0) throw refuse(shown, `the images of a prompt have at most ${REQUEST_IMAGES_MAX_BYTES} bytes`)
    const mediaType = imageType(found.bytes)
    if (mediaType === undefined) throw refuse(shown, 'it is no png, jpeg, gif or webp')
    if (typeof image !== 'string' && image.mediaType !== mediaType)
      throw refuse(shown, `its bytes are ${mediaType}, and its media type says something else`)
    return { image, shown, mediaType, bytes: found.bytes }
  })
  return read.map(({ image, shown, mediaType, bytes }) => {
    const kept = keepImage(directory, mediaType, bytes)
    if (kept === undefined) throw refuse(shown, 'there is no room left for images of this session')
    return typeof image === 'string' ? { ...kept, name: image } : kept
  })
}

/** Whether a turn that is kept was given these: a path is the same as it is named, bytes as they are. */
export function areSameImages(
  kept: readonly KeptImage[],
  images: readonly PromptImage[],
  redacted: (text: string) => string,
): boolean {
  if (!Array.isArray(images) || kept.length !== images.length) return false
  return images.every((image: PromptImage, at) => {
    const one = kept[at] as KeptImage
    if (typeof image === 'string') return one.name === redacted(image)
    if (one.name !== undefined || !isGiven(image)) return false
    return image.data.length === one.bytes && one.file === imageFile(Buffer.from(image.data))
  })
}

type Read = { bytes: Buffer } | { problem: string }

const TOO_LARGE = { problem: `an image has at most ${IMAGE_MAX_BYTES} bytes` }
const SHOWN_CHARS = 200

function readGiven(image: unknown): Read {
  if (!isGiven(image)) return { problem: 'an image is a path, or has "data" (bytes) and "mediaType"' }
  return image.data.length > IMAGE_MAX_BYTES ? TOO_LARGE : { bytes: Buffer.from(image.data) }
}

function isGiven(image: unknown): image is { data: Uint8Array; mediaType: string } {
  return isObject(image) && image['data'] instanceof Uint8Array && typeof image['mediaType'] === 'string'
}

/** A FIFO must not hold the session, and a large file must not fill its memory. */
function readPath(path: string, place: Place): Read {
  if (path === '' || path.length > PROMPT_IMAGE_PATH_MAX_CHARS) return { problem: 'it is no path' }
  const found = place.find(path, 'read')
  if ('refused' in found) return { problem: 'it is outside of the workspace, or belongs to the platform' }
  let fd: number
  try {
    fd = openSync(found.path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch {
    return { problem: 'it cannot be opened' }
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) return { problem: 'it is not a regular file' }
    if (stat.size > IMAGE_MAX_BYTES) return TOO_LARGE
    const bytes = Buffer.alloc(stat.size)
    return { bytes: bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)) }
  } catch {
    return { problem: 'it cannot be read' }
  } finally {
    closeSync(fd)
  }
}
