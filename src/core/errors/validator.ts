/** What the validator of a reality check answers instead of an observation. */
import type { Entry } from './entry.ts'

export const validatorErrors = {
  browser_unavailable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { reason: string }) => `The browser does not start: ${d.reason}.`,
    outside: () => 'The browser of the validator does not start.',
  },
  observation_refused: {
    kind: 'user',
    http: 422,
    exit: 2,
    message: (d: { reason: string }) => `The validator can't carry this out: ${d.reason}.`,
  },
} as const satisfies Record<string, Entry>
