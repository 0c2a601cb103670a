/** Names of walks, and what a node gave as text. */
import type { Outcome } from '../engine/outcome.ts'
import type { WalkState } from '../engine/walk.ts'
import type { Scope } from './walk.ts'

/** The branch that begins at `start`, of the parallel node that is being executed. */
export function branchScope(scope: Scope, state: WalkState, start: string): string {
  return below(scope, state, start)
}

/** The child that the node being executed runs. */
export function childScope(scope: Scope, state: WalkState): string {
  return below(scope, state, '')
}

/** The number of the execution tells the visits of a loop apart. */
function below({ id }: Scope, { at, steps }: WalkState, last: string): string {
  return `${id === '' ? '' : `${id}/`}${encodeURIComponent(at)}@${steps}.${encodeURIComponent(last)}`
}

/** What a node wrote for those after it: the text of a model, else the output of a command. */
export function outputOf({ output, context_updates: updates }: Outcome): string {
  if (output !== undefined) return output
  const found = ['last_response', 'tool.output'].map((key) => updates?.[key]).find((one) => typeof one === 'string')
  return typeof found === 'string' ? found : ''
}
