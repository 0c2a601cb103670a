/** The parts of the bench by name, in the order they run. */
import { create } from './create.ts'
import { docker } from './docker.ts'
import type { Part } from './figure.ts'
import { forms } from './forms.ts'
import { ingest } from './ingest.ts'
import { readers } from './readers.ts'
import { replay } from './replay.ts'
import { start } from './start.ts'

export const PARTS: Readonly<Record<string, Part>> = { docker, start, create, ingest, replay, readers, forms }
