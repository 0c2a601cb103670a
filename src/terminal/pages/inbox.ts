/** Collects and formats the open input requests of all instances, oldest first: for `inbox`, and for `resolve` without a command. */
import type { Form, Platform } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { pendingRequests } from '../../core/view/story.ts'
import { ageText } from '../../core/view/time-words.ts'
import { isConnectionError } from '../output/connection.ts'
import { answerCommand, isAtTerminal } from '../output/next-steps.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'

export interface OpenQuestion {
  instance_id: string
  name: string | null
  resolver: string
  request_id: string
  prompt: string
  schema: Form
  asked_at: string
  /** The complete command line that answers it. */
  command: string
}

/** A cache for callers that poll: a journal that has not changed is not read again. */
export type ReadBefore = Map<string, { updated_at: string; questions: OpenQuestion[] }>

export async function openQuestions(platform: Platform, before: ReadBefore = new Map()): Promise<OpenQuestion[]> {
  // The questions of a lost worker stay open while it is paused (R58).
  const { records: open } = await platform.list({ status: ['awaiting_input', 'paused'] })
  const records = open.filter(({ pending_inputs }) => pending_inputs > 0)
  const found: OpenQuestion[] = []
  for (const { instance_id, updated_at } of records) {
    const known = before.get(instance_id)
    const questions = known?.updated_at === updated_at ? known.questions : await questionsOf(platform, instance_id)
    before.set(instance_id, { updated_at, questions })
    found.push(...questions)
  }
  return found.sort((a, b) => (a.asked_at < b.asked_at ? -1 : a.asked_at > b.asked_at ? 1 : 0))
}

async function questionsOf(platform: Platform, id: string): Promise<OpenQuestion[]> {
  try {
    const story = await platform.story(id)
    const { name, resolver } = story.creation
    return pendingRequests(story).map((request) => {
      const { prompt, schema, asked_at } = request
      const command = answerCommand(id, request)
      return {
        instance_id: id,
        name,
        resolver: resolver.name,
        request_id: request.id,
        prompt,
        schema,
        asked_at,
        command,
      }
    })
  } catch (error) {
    if (isConnectionError(error)) throw error
    // The instance was removed meanwhile, or cannot be read: it must not hide the others.
    return []
  }
}

/** Identifies a request. A request that is opened again after a resume counts as a new one. */
export function keyOf({ instance_id, request_id, asked_at }: OpenQuestion): string {
  return `${instance_id} ${request_id} ${asked_at}`
}

/** Two lines, cleaned and coloured for stdout. `all` are the open questions: the command names one of several of an instance. */
export function questionLines(
  output: Output,
  question: OpenQuestion,
  all: readonly OpenQuestion[],
  now: number,
): string[] {
  const { instance_id, resolver, name, request_id, prompt, asked_at } = question
  const isOnly = all.filter((one) => one.instance_id === instance_id).length < 2
  const short = commandLine('instance', 'answer', instance_id, ...(isOnly ? [] : [request_id]))
  const command = isAtTerminal() ? short : question.command
  const who = name === null ? resolver : `${resolver} (${name})`
  const age = ageText(asked_at, now).padStart(3)
  const head = [output.paint('dim', age, process.stdout), instance_id, cleanLine(who), cleanLine(request_id)]
  return [
    `${head.join('  ')}  ${output.paint('yellow', cleanLine(prompt), process.stdout)}`,
    `     ${output.paint('cyan', command, process.stdout)}`,
  ]
}
