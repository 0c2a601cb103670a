/** What people and programs get to see of LLM sessions. */
import { toRequirement } from './requirement.ts'

const entries: Record<string, string> = {
  'S-SESS-01':
    'The page lists the LLM sessions of an instance and shows what one of them did while it runs, its texts as text, and says when a model was scripted or recorded',
  'S-SESS-02':
    'A transcript of any length is read in pieces within the limit of an answer, and no line is lost between two',
  'S-SESS-04':
    'The page is told by the event stream when a transcript grew, asks only for what is new, and loads older entries of a long one on request',
  'S-SESS-03':
    'A trajectory has the whole transcript with all that its session used, by the rules of ATIF 1.4, and is made without holding the transcript',
}

export const sessionsRequirements = Object.entries(entries).map(([id, entry]) =>
  toRequirement(id, 'docs/sessions.md', entry),
)
