/** The images of workers, passed on to rooms that know hosts and no workers. */
export {
  type BuiltImage,
  buildWorkerImage,
  lookForWorkerImage,
  type PrunedImage,
  pruneSetupImages,
} from '../../worker/docker/images.ts'
