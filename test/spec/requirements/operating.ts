/** What operators of a server and of a machine get beyond the specification: queue, retention, schedules, contexts, uploads. */
import { toRequirement } from './requirement.ts'

const entries = {
  R70: 'At most N instances of a home, and of a resolver with max_running, have a worker at the same time, for all hosts together; the others wait with their place, the oldest starts next, none starts twice and no killed host loses a place',
  R72: 'Schedules create instances at due times of their zone: each once, across servers and kills; missed and skipped ones are told, never two at once; secrets are refused',
  R71: 'serve --keep removes ended instances regularly, as prune does, and tells it',
}

export const operatingRequirements = Object.entries(entries).map(([id, entry]) => toRequirement(id, 'rulings', entry))
