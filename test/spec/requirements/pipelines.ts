/** What people and programs get to see of pipelines. */
import { toRequirement } from './requirement.ts'

const entries: Record<string, string> = {
  'S-PIPE-01':
    'Every problem of a pipeline and of the files that it names is told at once, with its place, its rule and what to write instead',
  'S-PIPE-02': 'A pipeline is shown as a list of nodes with their edges, as JSON, and as a drawing of what was read',
  'S-PIPE-03': 'A pipeline names files of its own folder only: nothing outside of it is read, also not by a link',
  'S-PIPE-04':
    'A pipeline is run by one command, which follows it and prints what was visited, the values and the questions',
  'S-PIPE-05':
    'A pipeline with its form is registered as a resolver of its own, through the doors that every resolver has',
  'S-PIPE-06':
    'The page draws the pipeline of a run with the state of each node and the edges that were taken, live, and shows what a node did; what is too large for a picture is a table',
  'S-PIPE-07':
    'The live view of a terminal lists the nodes of a pipeline that run, with their state, attempts and time',
  'S-PIPE-08':
    "Parallel branches never see each other's context; only their results come back, and the run goes on where they meet",
  'S-PIPE-09':
    'A run that goes on from its log, after any of its lines, ends as one that was not cut, and executes nothing again that had ended',
  'S-PIPE-10':
    'A child pipeline has a context, a log and questions of its own; a pipeline that runs itself is refused before a node runs',
  'S-PIPE-11': 'In dataflow mode a node runs when all before it have ended, and gets what they gave',
  'S-PIPE-12': 'Every run ends: executions, visits, jumps, branches and the depth of pipelines have limits',
}

export const pipelinesRequirements = Object.entries(entries).map(([id, entry]) =>
  toRequirement(id, 'docs/pipelines.md', entry),
)
