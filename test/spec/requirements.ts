/** Every requirement of the specification and of the rulings, as data; coverage.test.ts holds the tests against it. */
import { changesRequirements } from './requirements/changes.ts'
import { contractRequirements } from './requirements/contract.ts'
import { formRequirements } from './requirements/forms.ts'
import { httpRequirements } from './requirements/http.ts'
import { lifeRequirements } from './requirements/life.ts'
import { limitRequirements } from './requirements/limits.ts'
import { logsAndLabelsRequirements } from './requirements/logs-and-labels.ts'
import { operatingRequirements } from './requirements/operating.ts'
import { pipelinesRequirements } from './requirements/pipelines.ts'
import type { Requirement } from './requirements/requirement.ts'
import { resourceRequirements } from './requirements/resources.ts'
import { rulingRequirements } from './requirements/rulings.ts'
import { serviceRequirements } from './requirements/service.ts'
import { sessionsRequirements } from './requirements/sessions.ts'

export const requirements: readonly Requirement[] = [
  ...serviceRequirements,
  ...resourceRequirements,
  ...formRequirements,
  ...lifeRequirements,
  ...httpRequirements,
  ...contractRequirements,
  ...limitRequirements,
  ...rulingRequirements,
  ...changesRequirements,
  ...sessionsRequirements,
  ...pipelinesRequirements,
  ...logsAndLabelsRequirements,
  ...operatingRequirements,
]
