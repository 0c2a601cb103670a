/** A thread that reads bundles: {@link file://./survey.ts} starts and ends it. */
import { parentPort, workerData } from 'node:worker_threads'
import { readContents } from '../contents.ts'
import { walkBundles } from '../walk.ts'
import type { Survey, SurveyRequest } from './survey.ts'

const { places, known } = workerData as SurveyRequest
const walk = walkBundles(places, (address) => known.get(address))
const survey: Survey = { wanted: [...new Set(walk.wanted)], notes: readContents(walk).notes }
parentPort?.postMessage(survey)
