/** What users missed: the log of an instance, and instances that are named, labelled, found and run again. */
import { toRequirement } from './requirement.ts'

const entries: Record<string, string> = {
  'S-LOG-01':
    'Noise on stdout, resolver.log and stderr of a worker are kept line by line, with the time of reading, in order, and read by every door',
  'S-LOG-02': 'The log is shown live: logs --follow, run --verbose, a request that waits, the page',
  'S-LOG-03': 'A line is in the log once, however often its host is killed, for local workers and in containers',
  'S-LOG-04': 'Known secrets are redacted in the log, and control characters are not printed',
  'S-LOG-05': 'A log has a bounded size: a flood is left out but for its last lines, and the log says so',
}

export const logsAndLabelsRequirements = Object.entries(entries).map(([id, entry]) =>
  toRequirement(id, 'docs/decisions/0023-logs-labels.md', entry),
)
