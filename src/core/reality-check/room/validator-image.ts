/** Picks the image of the validator; the check broker asks for it when a room is opened. */
import { imageId } from '../../worker/docker/container-setup.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import { VALIDATOR_IMAGE } from '../../worker/engine/worker-image.ts'

/**
 * The operator's (RESOLVE_VALIDATOR_IMAGE), else the one of `resolve worker build --validator`. Where that is not built, the worker's image,
 * which has no browser: the tests with browser steps are missing then. Throws `docker_unreachable`.
 */
export async function pickValidatorImage(
  engine: Engine,
  workerImage: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const given = env['RESOLVE_VALIDATOR_IMAGE'] ?? ''
  if (given !== '') return given
  return (await imageId(engine, VALIDATOR_IMAGE)) === undefined ? workerImage : VALIDATOR_IMAGE
}
