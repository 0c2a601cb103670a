/**
 * The image that a worker starts from: the manifest's, the operator's (RESOLVE_WORKER_IMAGE), or the one that `resolve worker
 * build` makes.
 */

export const DEFAULT_IMAGE = 'resolve-worker:latest'

/** The image that `resolve worker build --validator` makes, for the validator of reality checks. */
export const VALIDATOR_IMAGE = 'resolve-validator:latest'

export interface ChosenImage {
  name: string
  /** The command that provides the image. Images are never pulled automatically: an operator decides which images run here. */
  mend: string
}

export function chooseImage(wanted: string | null, env: NodeJS.ProcessEnv = process.env): ChosenImage {
  const name = wanted ?? (env['RESOLVE_WORKER_IMAGE'] || DEFAULT_IMAGE)
  return { name, mend: name === DEFAULT_IMAGE ? 'resolve worker build' : `docker pull ${name}` }
}
