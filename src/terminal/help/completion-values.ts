/** Completion values from a home or a server: instances, resolvers, input requests, message types, data files. Only reads; starts nothing. */
import { existsSync } from 'node:fs'
import { homeDirectory, openLocalPlatform, openTokens, type Platform, type Status } from '../../core/index.ts'
import { isTerminal, STATUSES } from '../../core/protocol/status.ts'
import { statusText } from '../../core/view/status-words.ts'
import { ageText } from '../../core/view/time-words.ts'
import { chosenServer, openServer } from '../command/server-choice.ts'
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
  /** The value of `--server`. */
  server?: string | undefined
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

async function platformOf({ server }: Wanted): Promise<Platform | undefined> {
  const chosen = chosenServer({ server })
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
  return records.length === 0 ? [] : [...found, { word: '@last', about: 'the newest' }]
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
