/** What users missed: the log of an instance, and instances that are named, labelled, found and run again. */
import { toRequirement } from './requirement.ts'

const entries: Record<string, string> = {
  'S-LOG-01':
    'Noise on stdout, resolver.log and stderr of a worker are kept line by line, with the time of reading, in order, and read by every door',
  'S-LOG-02': 'The log is shown live: logs --follow, run --verbose, a request that waits, the page',
  'S-LOG-03': 'A line is in the log once, however often its host is killed, for local workers and in containers',
  'S-LOG-04': 'Known secrets are redacted in the log, and control characters are not printed',
  'S-LOG-05': 'A log has a bounded size: a flood is left out but for its last lines, and the log says so',
  'S-FIND-01':
    'An instance has labels, bounded in count and length: given at creation, changed later, kept in the record',
  'S-FIND-02': 'Lists are narrowed by name, label, resolver, date and text, at every door, also with many instances',
  'S-FIND-03':
    'A name is taken where an id is; an id wins over a name, and a name means the newest instance that has it',
  'S-FIND-05':
    'A name is visible text of one line that looks like no id and like no @last; one rule at every door, and older homes with other names still work',
  'S-FIND-04': 'An instance is run again with the same input but for the fields given; the new one has it as parent',
}

export const logsAndLabelsRequirements = Object.entries(entries).map(([id, entry]) =>
  toRequirement(id, 'docs/decisions/0023-logs-labels.md', entry),
)
