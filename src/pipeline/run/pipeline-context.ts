/** What a run of a pipeline uses of the instance. */
import type { Context } from '../../sdk/index.ts'

export type PipelineContext = Pick<
  Context,
  | 'config'
  | 'signal'
  | 'sessions'
  | 'workingDirectory'
  | 'data'
  | 'emit'
  | 'progress'
  | 'mergeState'
  | 'requestInput'
  | 'sandbox'
  | 'log'
  | 'state'
>
