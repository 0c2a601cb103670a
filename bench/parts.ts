/** The parts of the bench by name, in the order in which they run. */
import { adopt } from './adopt.ts'
import { burst } from './burst.ts'
import { create } from './create.ts'
import { docker } from './docker.ts'
import type { Part } from './figure.ts'
import { forms } from './forms.ts'
import { git } from './git.ts'
import { ingest } from './ingest.ts'
import { latency } from './latency.ts'
import { memory } from './memory.ts'
import { pipelines } from './pipelines.ts'
import { readers } from './readers.ts'
import { replay } from './replay.ts'
import { scale } from './scale.ts'
import { sessions } from './sessions.ts'
import { start } from './start.ts'

export const PARTS: Readonly<Record<string, Part>> = {
  docker,
  start,
  create,
  burst,
  latency,
  ingest,
  replay,
  readers,
  forms,
  memory,
  scale,
  adopt,
  git,
  sessions,
  pipelines,
}
