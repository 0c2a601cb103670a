/** What operators of a server and of a machine get beyond the specification: queue, retention, schedules, contexts, uploads. */
import { toRequirement } from './requirement.ts'

const entries = {
  R70: 'At most N instances of a home, and of a resolver with max_running, have a worker at the same time, for all hosts together; the others wait with their place, the oldest starts next, none starts twice and no killed host loses a place',
  'S-NOTIFY-01':
    'Questions, ends and failures are told to webhooks, signed as Standard Webhooks, with the command that continues and never an answer',
  'S-NOTIFY-02':
    'Each notification is sent at least once, whatever step its host is killed at; what waits and what was given up is told',
  'S-NOTIFY-03':
    'A target is http or https, no link-local or metadata address, and its address and signing key are never shown',
  'S-SECRET-01':
    'A secret field goes to the resolver only: sealed in the journal, in no other file after the run, in no event, export or answer',
  R72: 'Schedules create instances at due times of their zone: each once, across servers and kills; missed and skipped ones are told, never two at once; secrets are refused, also where the form cannot be asked; one schedule never stops another; inputs are shown to admin only',
  R73: 'login checks a token and stores it for this user alone; contexts choose the server, a token goes to its own server only; the config file is refused with the line of what is wrong',
  R74: 'resolver add to a server sends an archive of the directory: only serve --uploads takes it, with scope admin; it is checked whole before anything is written, stored under its digest, and runs in a container only',
  'S-AGENT-01':
    'The built-in resolver agent works on a task with a model and tools, here or in a container, in a clone or an empty directory; takes messages meanwhile; asks before it delivers, and leaves commit, pull request, summary and difference',
  R71: 'serve --keep removes ended instances regularly, as prune does, and tells it',
}

export const operatingRequirements = Object.entries(entries).map(([id, entry]) => toRequirement(id, 'rulings', entry))
