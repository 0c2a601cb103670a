/** What a person or a script can run next, as whole command lines: shown on stderr, and `next[]` of every document. */
import type { Component, Payload } from '../../core/protocol/form.ts'
import type { Status } from '../../core/protocol/status.ts'
import type { Story, StoryRequest } from '../../core/view/story.ts'
import { pendingRequests } from '../../core/view/story.ts'
import { commandLine } from './shell.ts'

/** The commands that make sense for an instance that stands where this story does. */
export function nextCommands(story: Story): string[] {
  const id = story.creation.instance_id
  const steps: Record<Status, () => string[]> = {
    created: () => [commandLine('instance', 'watch', id), commandLine('instance', 'stop', id)],
    starting: () => [commandLine('instance', 'watch', id), commandLine('instance', 'stop', id)],
    running: () => [commandLine('instance', 'watch', id), commandLine('instance', 'stop', id)],
    awaiting_input: () => pendingRequests(story).map((request) => answerCommand(id, request)),
    paused: () => [commandLine('instance', 'resume', id), commandLine('instance', 'cancel', id)],
    completed: () => [
      commandLine('instance', 'show', id),
      ...(story.changedData.length > 0 ? [commandLine('instance', 'data', id)] : []),
    ],
    failed: () => [commandLine('instance', 'explain', id), commandLine('instance', 'events', id)],
    cancelled: () => [commandLine('instance', 'show', id)],
  }
  return steps[story.status]()
}

/** The same, for who looks at it with `instance show` already. */
export function nextBesideShow(story: Story): string[] {
  const show = commandLine('instance', 'show', story.creation.instance_id)
  return nextCommands(story).filter((command) => command !== show)
}

/** The exact line that answers a question, with every field of its form; what only the person knows stands as `<field>`. */
export function answerCommand(id: string, request: Pick<StoryRequest, 'id' | 'schema'>): string {
  return commandLine('instance', 'answer', id, request.id, ...fieldFlags(request.schema?.components ?? []))
}

/** `-i field=value` for each field: what was given for it, its default, its first option, or `<field>`. */
export function fieldFlags(components: readonly Component[], given: Payload = {}): string[] {
  return components.flatMap((component) => [
    '-i',
    `${component.id}=${givenFor(component, given) ?? suggested(component)}`,
  ])
}

const GIVEN_MAX_CHARS = 80

/** What `-i` would read as a file is not told again, nor what makes a long line. */
function givenFor({ id }: Component, given: Payload): string | undefined {
  const value = Object.hasOwn(given, id) ? given[id] : undefined
  if (typeof value === 'boolean') return String(value)
  const isShort = typeof value === 'string' && value !== '' && value.length <= GIVEN_MAX_CHARS && !value.startsWith('@')
  return isShort ? value : undefined
}

function suggested(component: Component): string {
  if (component.type === 'checkbox') return String(component.default ?? false)
  if (component.type === 'select') return component.default ?? component.options[0]?.value ?? `<${component.id}>`
  return `<${component.id}>`
}
