/** Builds the platform's images of the worker and the validator, and removes images that setups left; `resolve worker build` and prune call it. */
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { ImageInfo } from 'dockerode'
import { fail } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import { tar } from '../../files/tar.ts'
import { IMAGE_BUILD_LIMIT_MS } from '../../limits.ts'
import { homeLabel } from '../engine/container-places.ts'
import { type Engine, theEngine, toRefusal } from '../engine/engine.ts'
import { chooseImage, DEFAULT_IMAGE, VALIDATOR_IMAGE } from '../engine/worker-image.ts'
import { imageId } from './container-setup.ts'

const IMAGES = {
  worker: { image: DEFAULT_IMAGE, dockerfile: 'templates/worker/Dockerfile' },
  validator: { image: VALIDATOR_IMAGE, dockerfile: 'templates/validator/Dockerfile' },
} as const

export interface BuiltImage {
  image: string
  id: string
}

export interface ImageBuild {
  kind: keyof typeof IMAGES
  base?: string
  onLine?: (line: string) => void
}

/**
 * Throws `docker_unreachable`, `container_refused` with the last output of the build, or `image_missing` where the validator's
 * has no base.
 */
export async function buildImage({ kind, base, onLine = () => {} }: ImageBuild): Promise<BuiltImage> {
  const engine = theEngine()
  const { image, dockerfile } = IMAGES[kind]
  const path = installedFile(dockerfile)
  if (path === undefined)
    throw fail('container_refused', { what: 'build the image', reason: `${dockerfile} is missing` })
  // The engine would look for the worker's image at a public registry, where anyone may own that name.
  if (kind === 'validator' && base === undefined && (await imageId(engine, DEFAULT_IMAGE)) === undefined)
    throw fail('image_missing', { image: DEFAULT_IMAGE, mend: 'resolve worker build' })
  const content = readFileSync(path)
  const parts: Buffer[] = []
  for await (const part of tar([{ path: 'Dockerfile', bytes: content.length, modifiedMs: 0, content: [content] }])) {
    parts.push(part)
  }
  try {
    return await engine.call(async (docker, abortSignal) => {
      const stream = await docker.buildImage(toStream(Buffer.concat(parts)), {
        t: image,
        ...(base === undefined ? {} : { buildargs: { BASE: base } }),
        abortSignal,
      })
      await follow(stream, image, onLine)
      const { Id: id } = await docker.getImage(image).inspect()
      return { image, id }
    }, IMAGE_BUILD_LIMIT_MS)
  } catch (error) {
    throw toRefusal(error, `build ${image}`)
  }
}

function toStream(bytes: Buffer): NodeJS.ReadableStream {
  return Readable.from([bytes])
}

/** Passes on the build's output lines; throws the build's error. */
async function follow(stream: NodeJS.ReadableStream, image: string, onLine: (line: string) => void): Promise<void> {
  let rest = ''
  let trouble: string | undefined
  const take = (line: string): void => {
    if (line.trim() === '') return
    const { stream: text, status, error } = JSON.parse(line) as { stream?: string; status?: string; error?: string }
    if (error !== undefined) trouble = error
    for (const said of (text ?? status ?? '').split('\n')) if (said.trim() !== '') onLine(said.trimEnd())
  }
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
  take(rest)
  if (trouble !== undefined)
    throw fail('container_refused', { what: `build ${image}`, reason: trouble.replace(/\.$/, '') })
}

export interface PrunedImage {
  image: string
  /** At most this much is freed, because images share layers. */
  bytes: number
  created_at: string
}

/** Removes the images that setups of this home left; the next run that needs one makes it again. Images in use stay. */
export async function pruneSetupImages(home: string, dryRun: boolean): Promise<PrunedImage[]> {
  const engine = theEngine()
  const found = await engine.call((docker, abortSignal) =>
    docker.listImages({ filters: { label: ['resolve.setup', `resolve.home=${homeLabel(home)}`] }, abortSignal }),
  )
  const containers = await engine.call((docker, abortSignal) => docker.listContainers({ all: true, abortSignal }))
  const used = new Set(containers.map(({ ImageID }) => ImageID))
  const removed: PrunedImage[] = []
  let left = found.filter(({ Id }) => !used.has(Id))
  // An image that others are based on can only be removed after them: repeated as long as it helps.
  for (let before = -1; left.length > 0 && left.length !== before; ) {
    before = left.length
    const stays: typeof left = []
    for (const image of left) {
      if (dryRun || (await removeImage(engine, image.Id))) removed.push(toPruned(image))
      else stays.push(image)
    }
    left = stays
  }
  return removed
}

/** Whether the default worker image is on this machine; false while the engine is away. */
export async function findWorkerImage(
  env: NodeJS.ProcessEnv,
): Promise<{ image: string; mend: string; isThere: boolean }> {
  const { name, mend } = chooseImage(null, env)
  const id = await imageId(theEngine(env), name).catch(() => undefined)
  return { image: name, mend, isThere: id !== undefined }
}

async function removeImage(engine: Engine, id: string): Promise<boolean> {
  const gone = await engine.callUnless([404, 409], (docker, abortSignal) =>
    docker.getImage(id).remove({ force: true, abortSignal }),
  )
  return gone !== undefined
}

function toPruned({ Id: id, RepoTags: tags, Size: bytes, Created: created }: ImageInfo): PrunedImage {
  return { image: tags?.[0] ?? id, bytes, created_at: new Date(created * 1000).toISOString() }
}
