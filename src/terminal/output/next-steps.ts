/** The commands to run next, as complete command lines: printed on stderr and in `next[]` of documents. */
import type { Check, Component, Payload } from '../../core/protocol/form.ts'
import type { Status } from '../../core/protocol/status.ts'
import type { Story, StoryRequest } from '../../core/view/story.ts'
import { pendingRequests } from '../../core/view/story.ts'
import { commandLine } from './shell.ts'
import { isCi } from './surroundings.ts'

/**
 * The commands that are useful in the instance's current status. At a terminal they are short: `answer` opens the form there.
 * Documents, pipes and CI get every field.
 */
export function nextCommands(story: Story, isShort = false): string[] {
  const id = story.creation.instance_id
  const steps: Record<Status, () => string[]> = {
    created: () => [commandLine('instance', 'watch', id), commandLine('instance', 'stop', id)],
    starting: () => [commandLine('instance', 'watch', id), commandLine('instance', 'stop', id)],
    running: () => [commandLine('instance', 'watch', id), commandLine('instance', 'stop', id)],
    awaiting_input: () => (isShort ? shortAnswerCommands : answerCommands)(id, pendingRequests(story)),
    paused: () => [
      commandLine('instance', 'resume', id),
      // Those of a lost worker stay open (R58).
      ...(isShort ? shortAnswerCommands : answerCommands)(id, pendingRequests(story)),
      commandLine('instance', 'cancel', id),
    ],
    completed: () => [
      commandLine('instance', 'show', id),
      ...(story.changedData.length > 0 ? [commandLine('instance', 'data', id)] : []),
    ],
    failed: () => [
      commandLine('instance', 'explain', id),
      commandLine('instance', 'logs', id),
      commandLine('instance', 'retry', id),
    ],
    cancelled: () => [commandLine('instance', 'show', id)],
  }
  return steps[story.status]()
}

/** The same without `instance show`, for the output of that command. */
export function nextBesideShow(story: Story, isShort = false): string[] {
  const show = commandLine('instance', 'show', story.creation.instance_id)
  return nextCommands(story, isShort).filter((command) => command !== show)
}

/** Whether commands that people read are short: they can open a form in the terminal in which they read them. */
export function isAtTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true && !isCi()
}

/** The shortest command for each: without its id where only one is open. */
export function shortAnswerCommands(id: string, requests: readonly { id: string }[]): string[] {
  const [only, other] = requests
  if (only !== undefined && other === undefined) return [commandLine('instance', 'answer', id)]
  return requests.map((request) => commandLine('instance', 'answer', id, request.id))
}

function answerCommands(id: string, requests: readonly StoryRequest[]): string[] {
  return requests.map((request) => answerCommand(id, request))
}

/** The command line that answers an input request. A value that only the user knows is `<field>`. */
export function answerCommand(
  id: string,
  request: Pick<StoryRequest, 'id' | 'schema'>,
  given?: GivenFields,
  wrong?: readonly string[],
): string {
  return commandLine(
    'instance',
    'answer',
    id,
    request.id,
    ...fieldFlags(request.schema?.components ?? [], given, wrong),
  )
}

/** What was given to a command that is to be repeated. */
export interface GivenFields {
  payload: Payload
  /** What stood behind `=` in each `-i`. */
  typed?: Readonly<Record<string, string>>
  /** The file with the other fields. */
  file?: string | undefined
}

/**
 * `-i field=value` for each field that a form needs or that was given or is wrong: with the given value, the default, the first option, or
 * `<field>`. A field that may stay empty is left out, because `<field>` would be its value. Fields of a file stay in the file.
 */
export function fieldFlags(
  components: readonly Component[],
  { payload, typed = {}, file }: GivenFields = { payload: {} },
  wrong: readonly string[] = [],
): string[] {
  const isSaid = ({ id }: Component) => Object.hasOwn(typed, id) || wrong.includes(id)
  const toFlag = (component: Component) => ['-i', `${component.id}=${saidFor(component, payload, typed)}`]
  if (file !== undefined) return ['--input-file', file, ...components.filter(isSaid).flatMap(toFlag)]
  const said = components.filter((one) => isSaid(one) || Object.hasOwn(payload, one.id) || mayNotStayEmpty(one))
  // An answer has a field at least.
  return (said.length === 0 ? components.slice(0, 1) : said).flatMap(toFlag)
}

/** As {@link fieldFlags}, with every field. */
export function everyFieldFlag(components: readonly Component[], payload: Payload): string[] {
  return components.flatMap((component) => ['-i', `${component.id}=${saidFor(component, payload, {})}`])
}

/** A text without checks, or whose checks all have an alternative to a value, may. Others have a value to suggest. */
function mayNotStayEmpty({ type, checks = [] }: Component): boolean {
  const hasAlternative = ({ condition }: Check) =>
    typeof condition === 'object' && 'call' in condition && condition.call === 'or'
  return (type !== 'text' && type !== 'textarea') || !checks.every(hasAlternative)
}

function saidFor(component: Component, payload: Payload, typed: Readonly<Record<string, string>>): string {
  const text = Object.hasOwn(typed, component.id) ? typed[component.id] : undefined
  const isFile = text?.startsWith('@') === true && !text.startsWith('@@')
  if (text !== undefined && text.length <= GIVEN_MAX_CHARS && (isFile || !isSecret(component))) return text
  return givenFor(component, payload) ?? suggested(component)
}

const GIVEN_MAX_CHARS = 200

/** Leaves out values that `-i` would read as a file name, and long values. */
function givenFor(component: Component, given: Payload): string | undefined {
  if (isSecret(component)) return undefined
  const { id } = component
  const value = Object.hasOwn(given, id) ? given[id] : undefined
  if (typeof value === 'boolean') return String(value)
  const isShort = typeof value === 'string' && value !== '' && value.length <= GIVEN_MAX_CHARS && !value.startsWith('@')
  return isShort ? value : undefined
}

function isSecret(component: Component): boolean {
  return component.type === 'text' && component.secret === true
}

function suggested(component: Component): string {
  // A command line is visible to other programs and is kept in a history: a secret value is read from a file.
  if (isSecret(component)) return `@<file with ${component.id}>`
  if (component.type === 'checkbox') return String(component.default ?? false)
  if (component.type === 'select')
    return String(component.default ?? component.options[0]?.value ?? `<${component.id}>`)
  return `<${component.id}>`
}
