/** Requirements of the specification's last sections: limits and versioning. */
import { section } from './requirement.ts'

const limits = section('Limits', 'LIM', {
  '01': 'A container has 256 PIDs, 8 GiB of memory (with swap 8 GiB together, R53), 2.0 CPUs and an init',
  '02': 'The guardian blocks tool calls over 128 PIDs, repeats, and kills orphan test runners',
  '03': 'The watchdog warns at 200 PIDs and at 80 % of memory',
  '04': 'An instance lives 12 hours',
  '05': 'RPC limits: 30 s initialize and stop; 10 s schema and workspace spec; 5 s inputResponse, message, getMessageTypes; none for run',
  '06': 'Setup takes about 15 s cached',
})

const versioning = section('Versioning', 'VER', {
  '01': 'The form dialect is v0.9',
  '02': 'schema_version of an envelope is 1',
  '03': 'The resolver version is semver and appears in the list of resolvers and in resolver event payloads',
  '04': 'Tier 1 events are stable across releases',
  '05': 'Paths are served under /api',
})

export const limitRequirements = [...limits, ...versioning]
