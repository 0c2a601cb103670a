/** Requirements of the specification's third section: states and transitions. */
import { section } from './requirement.ts'

const states = section('States and transitions', 'STATE', {
  '01': 'created: the record is kept, nothing is provisioned yet',
  '02': 'starting: the worker launches and initializes',
  '03': 'running: the resolver executes',
  '04': 'awaiting_input: a request was written and waits for a response',
  '05': 'paused: an intentional checkpoint, resumable',
  '06': 'completed is terminal',
  '07': 'failed is terminal',
  '08': 'cancelled is terminal, by DELETE or stop',
  '09': 'Each status change is an event platform.instance.status_changed {from, to}',
  '10': 'The happy path is created, starting, running, completed',
})

const moves = section('Transitions', 'MOVE', {
  '01': 'Creation leads to created',
  '02': 'created moves to starting by the platform',
  '03': 'starting moves to running when the worker is initialized',
  '04': 'starting moves to failed on a setup or launch error',
  '05': 'running moves to awaiting_input when a request is written; platform.input.requested follows and the request is listed',
  '06': 'awaiting_input moves to running by a valid answer; the response file is written and on_input_response called',
  '07': 'running moves to paused when run() returns paused, supports_resume is true and a checkpoint is saved',
  '08': 'paused moves to running by resume; run() is called again with resume=True and reads its checkpoint',
  '09': 'running moves to completed when run() returns completed',
  '10': 'running moves to failed when run() returns failed',
  '11': 'running moves to cancelled by DELETE or stop',
  '12': 'awaiting_input moves to cancelled by DELETE or stop',
  '13': 'paused moves to cancelled by DELETE or stop',
})

const rules = section('Rules of the states', 'RULE', {
  '01': 'paused has no pending request and ends only by an explicit resume',
  '02': 'The resolver decides paused only if supports_resume is true and its checkpoint is saved',
  '03': 'Stop: resolver.stop(reason) is called, the resolver checkpoints and returns, and the platform sets the final status accordingly',
  '04': 'A resolver that does not answer a stop in time is ended by force',
  '05': 'Phases are defined per resolver and exposed through state snapshot and events',
  '06': 'The event stream ends with {type: done} when the instance is terminal',
})

export const lifeRequirements = [...states, ...moves, ...rules]
