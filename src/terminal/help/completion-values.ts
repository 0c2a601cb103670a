/** Completion values from a home or a server: instances, resolvers, input requests, message types, data files. Only reads; starts nothing. */
import { existsSync } from 'node:fs'
import { homeDirectory, openLocalPlatform, openTokens, type Platform, type Status } from '../../core/index.ts'
import { isTerminal, STATUSES } from '../../core/protocol/status.ts'
import { type FormLike, fieldsOf } from '../../core/view/fields.ts'
import { statusText } from '../../core/view/status-words.ts'
import { ageText } from '../../core/view/time-words.ts'
import { chosenServer, openServer, type ServerFlags } from '../command/server-choice.ts'
import { readConfig } from '../config/config-file.ts'
import { listContexts } from '../config/contexts.ts'
import { builtinsDirectory } from '../output/surroundings.ts'
import { tokenWords } from '../pages/token-words.ts'

/** A word with its description; `files` asks the shell to complete file names. */
export type Suggestion = { word: string; about: string } | 'files'

export interface Wanted {
  /** `instance:answer`. */
  command: string
  /** The name of the flag (`--status`) or of the argument (`id`). */
  name: string
  /** The arguments before the word. */
  positional: readonly string[]
  /** The values of `--server` and `--context`. */
  chosen: ServerFlags
  /** The values of `-i` before the word. */
  fields: readonly string[]
  /** The word at the cursor. */
  word: string
}

const SHOWN = 50

export async function valuesOf(wanted: Wanted): Promise<Suggestion[]> {
  const { command, name, positional } = wanted
  if (FILES.includes(name)) return ['files']
  if (name === '--status') {
    const known = command === 'instance:prune' ? STATUSES.filter(isTerminal) : STATUSES
    return known.map((status) => ({ word: status, about: '' }))
  }
  if (name === 'token') return tokens()
  if (name === '--context' || (name === 'name' && command.startsWith('context:'))) return contextNames()
  if (name === '--input') return await fieldWords(wanted)
  if (!KNOWN.includes(name)) return []
  const platform = await platformOf(wanted)
  if (platform === undefined) return []
  const [id] = positional
  if (name === 'id' || name === '--instance') return await instances(platform, fittingStatuses(command))
  if (RESOLVERS.includes(name)) {
    return (await platform.resolvers()).map((entry) => ({ word: entry.name, about: entry.description }))
  }
  if (id === undefined) return []
  return await ofInstance(platform, name, await platform.find(id))
}

/** `field=` for each field that is not given yet, or after `field=` its options. */
async function fieldWords(wanted: Wanted): Promise<Suggestion[]> {
  const platform = await platformOf(wanted)
  if (platform === undefined) return []
  try {
    const form = await formOf(platform, wanted)
    const given = new Set(wanted.fields.map((pair) => pair.split('=')[0] ?? ''))
    const equals = wanted.word.indexOf('=')
    const open = fieldsOf(form ?? { components: [] }).filter(({ id }) => !given.has(id))
    if (equals === -1) return open.map(({ id, label }) => ({ word: `${id}=`, about: label }))
    const field = open.find(({ id }) => id === wanted.word.slice(0, equals))
    if (field === undefined) return []
    const options = field.kind === 'checkbox' ? YES_NO : field.options
    return options.map(({ value, label }) => ({ word: `${field.id}=${value}`, about: label === value ? '' : label }))
  } finally {
    // Ends the resolver's process that was asked.
    await platform.close()
  }
}

const YES_NO = [
  { value: 'true', label: 'yes' },
  { value: 'false', label: 'no' },
]

/** Asks a resolver that runs as a process of this machine, or a server: a container would start for too long. */
async function formOf(platform: Platform, { command, positional, fields, chosen }: Wanted): Promise<FormLike | null> {
  const [first, second] = positional
  if (first === undefined) return null
  switch (command) {
    case 'instance:run':
    case 'resolver:schema': {
      const { manifest } = await platform.resolver(first)
      if (manifest.container !== undefined && chosenServer(chosen) === undefined) return null
      return await platform.schema(first, paramsOf(fields))
    }
    case 'instance:answer': {
      const open = await platform.inputRequests(await platform.find(first), 'pending')
      return (second === undefined ? open[0] : open.find(({ id }) => id === second))?.schema ?? null
    }
    case 'instance:message': {
      const id = await platform.find(first)
      if (!(await platform.hasHost(id))) return null
      return (await platform.messageTypes(id)).find((type) => type.name === second)?.schema ?? null
    }
    default:
      return null
  }
}

/** The values given so far may disclose fields (R10); a file is not read for a suggestion. */
function paramsOf(fields: readonly string[]): Record<string, unknown> {
  const pairs = fields.flatMap((pair): [string, unknown][] => {
    const equals = pair.indexOf('=')
    const value = pair.slice(equals + 1)
    if (equals < 1 || value.startsWith('@')) return []
    return [[pair.slice(0, equals), value === 'true' ? true : value === 'false' ? false : value]]
  })
  return Object.fromEntries(pairs)
}

async function platformOf(wanted: Wanted): Promise<Platform | undefined> {
  const chosen = chosenServer(wanted.chosen)
  if (chosen !== undefined) return await openServer(chosen)
  const home = homeDirectory(process.env)
  // Completion must not create a home.
  return existsSync(home) ? await openLocalPlatform({ home, builtins: builtinsDirectory() }) : undefined
}

const FILES = ['--input-file', '--answers', '--output', 'source']
const RESOLVERS = ['--resolver', 'resolver', 'name']
const KNOWN = ['id', '--instance', 'request', 'type', 'path', ...RESOLVERS]

async function ofInstance(platform: Platform, name: string, id: string): Promise<Suggestion[]> {
  switch (name) {
    case 'request':
      return (await platform.inputRequests(id, 'pending')).map((one) => ({ word: one.id, about: one.prompt }))
    case 'type':
      // Asks only a running host: completion must not start one.
      if (!(await platform.hasHost(id))) return []
      return (await platform.messageTypes(id)).map((one) => ({ word: one.name, about: one.description || one.label }))
    case 'path':
      return (await platform.dataFiles(id)).map((file) => ({ word: file.path, about: `${file.bytes} bytes` }))
    default:
      return []
  }
}

/** Always from this machine: tokens of a server are managed on its own machine. */
function tokens(): Suggestion[] {
  const kept = openTokens(homeDirectory(process.env)).list()
  return kept.map((entry) => ({ word: entry.id, about: tokenWords(entry) }))
}

export function contextNames(): Suggestion[] {
  return listContexts(readConfig()).map(({ name, url }) => ({ word: name, about: url ?? 'this machine' }))
}

async function instances(platform: Platform, status: readonly Status[]): Promise<Suggestion[]> {
  const { records } = await platform.list({ limit: SHOWN, status })
  const now = Date.now()
  const found = records.map((record) => {
    const who = record.name === null ? record.resolver : `${record.resolver} (${record.name})`
    return {
      word: record.instance_id,
      about: `${statusText(record.status)}  ${who}  ${ageText(record.created_at, now)}`,
    }
  })
  // The newest comes first: a name means the newest instance that has it.
  const named = new Map<string, Suggestion>()
  for (const { name, instance_id } of records)
    if (name !== null && !named.has(name)) named.set(name, { word: name, about: instance_id })
  return records.length === 0 ? [] : [...found, ...named.values(), { word: '@last', about: 'the newest' }]
}

/** The statuses for which the command is possible. */
function fittingStatuses(command: string): readonly Status[] {
  switch (command) {
    case 'instance:answer':
      return ['awaiting_input']
    case 'instance:message':
      return ['running', 'awaiting_input']
    case 'instance:pause':
      return ['running', 'awaiting_input']
    case 'instance:resume':
      return ['paused']
    case 'instance:stop':
    case 'instance:cancel':
    case 'instance:wait':
      return STATUSES.filter((status) => !isTerminal(status))
    default:
      return STATUSES
  }
}
