/**
 * Answers without a model: replies by node from a script, or outcomes by rule (docs/pipelines.md, Without a model). Pure but for the count of
 * what was given.
 */
import { isObject } from '../../core/primitives/is-object.ts'

export interface Reply {
  text: string
  status?: string
  /** Written below the working directory. */
  files?: Readonly<Record<string, string>>
  error?: string
  delay_ms?: number
}

export interface Script {
  kind: 'script'
  replies: ReadonlyMap<string, readonly Reply[]>
}

/** `ask`: a person says how each node ends. */
export type Answers = Script | { kind: 'rule' } | { kind: 'ask' }

const DELAY_MAX_MS = 60_000

/** `{"version": 1, "replies": {"<node>": [text | {text?, status?, files?, error?, delay_ms?}]}}`. All problems at once. */
export function parseScript(value: unknown): { answers: Answers; problems: string[] } {
  const problems: string[] = []
  const replies = new Map<string, readonly Reply[]>()
  const answers: Answers = { kind: 'script', replies }
  if (!isObject(value) || value['version'] !== 1 || !isObject(value['replies']))
    return { answers, problems: ['A script is {"version": 1, "replies": {"<node>": [...]}}.'] }
  for (const [node, given] of Object.entries(value['replies'])) {
    const list = Array.isArray(given) ? (given as unknown[]) : [given]
    replies.set(
      node,
      list.map((one, index) => replyOf(one, `replies.${node}[${index}]`, problems)),
    )
  }
  return { answers, problems }
}

function replyOf(value: unknown, at: string, problems: string[]): Reply {
  if (typeof value === 'string') return { text: value }
  if (!isObject(value)) {
    problems.push(`${at} must be a text or an object.`)
    return { text: '' }
  }
  const { text, status, files, error, delay_ms: delay } = value
  const reply: Reply = { text: typeof text === 'string' ? text : '' }
  const refuse = (key: string, what: string) => problems.push(`${at}.${key} must be ${what}.`)
  if (text !== undefined && typeof text !== 'string') refuse('text', 'a text')
  if (typeof status === 'string') reply.status = status
  else if (status !== undefined) refuse('status', 'a text')
  if (typeof error === 'string') reply.error = error
  else if (error !== undefined) refuse('error', 'a text')
  if (typeof delay === 'number' && delay >= 0 && delay <= DELAY_MAX_MS) reply.delay_ms = delay
  else if (delay !== undefined) refuse('delay_ms', `a number from 0 to ${DELAY_MAX_MS}`)
  if (isObject(files) && Object.values(files).every((one) => typeof one === 'string'))
    reply.files = files as Record<string, string>
  else if (files !== undefined) refuse('files', 'texts by their paths')
  return reply
}
