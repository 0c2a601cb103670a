/** The images of a prompt in words, as a transcript names them: for people, on the page and in the terminal. Pure. */
import { isObject } from '../../primitives/is-object.ts'

const SHOWN_MAX = 10
const NAME_MAX_CHARS = 200

/** `images` of an event `prompt:submit`: a resolver can write anything there. */
export function toldImages(images: unknown): string[] {
  if (!Array.isArray(images)) return []
  return images
    .slice(0, SHOWN_MAX)
    .filter(isObject)
    .map(({ name, media_type, bytes }) => {
      const kind = `${String(media_type).slice(0, 40)}, ${Number(bytes)} bytes`
      return typeof name === 'string' ? `[image ${name.slice(0, NAME_MAX_CHARS)}: ${kind}]` : `[image: ${kind}]`
    })
}
