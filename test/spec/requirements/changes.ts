/** What users get to see, in the page, of the work of an instance in its repositories. */
import { toRequirement } from './requirement.ts'

const entries: Record<string, string> = {
  'S-CHANGES-01':
    'The page lists the files that an instance changed, live and after its end, shows the difference of one at a time, and gives the patch',
  'S-CHANGES-02': 'The page shows what was pushed, and compares any snapshot with the start, the upstream or the push',
  'S-CHANGES-03':
    'A person promotes from the page after seeing what the server found; what is refused is told in a sentence',
  'S-CHANGES-04': 'A token that can only read is offered no promotion in the page, and the server refuses it',
  'S-CHANGES-05':
    'Names and lines of a hostile repository are text in a bounded number, and characters that mislead a reader are shown as their code',
}

export const changesRequirements = Object.entries(entries).map(([id, entry]) => toRequirement(id, 'docs/git.md', entry))
