/** The images of workers, passed on to rooms that know hosts and no workers. */
export { type BuiltImage, buildWorkerImage, type PrunedImage, pruneSetupImages } from '../worker/images.ts'
