/** Suggests commands, flags and values for the word at the cursor. Loads only the modules that the words need. */
import { cleanLine } from '../../core/view/clean.ts'
import { FLAGS_BEFORE, splitFlagsBefore } from '../command/flags-before.ts'
import type { Place, ServerFlags } from '../command/server-choice.ts'
import { SHELLS } from './completion-scripts.ts'
import type { Suggestion } from './completion-values.ts'
import { TOPICS } from './help-topics.ts'

/** The static description of a command. */
interface Described {
  summary?: string | undefined
  args?: Record<string, { options?: readonly string[] }>
  flags?: Record<string, DescribedFlag>
  baseFlags?: Record<string, DescribedFlag>
  place?: Place
}

interface DescribedFlag {
  type: 'boolean' | 'option'
  char?: string
  description?: string
  options?: readonly string[]
  multiple?: boolean
}

export interface CommandTable {
  commands: Readonly<Record<string, () => Promise<{ default: object }>>>
  nouns: readonly string[]
  shortForms: readonly string[]
  commandWords: (id: string) => string
}

/** Only words that a shell reads as one word without quotes: a resolver could name a message type `$(…)`. */
const PLAIN = /^[A-Za-z0-9_@%+,./=-]+$/

/** Lines for the shell: `word TAB description`, or `:files`. The last element of `typed` is the word at the cursor; it may be empty. */
export async function suggest(typed: readonly string[], table: CommandTable): Promise<string[]> {
  const fields = joinFields(typed)
  const assigned = joinAssignments(fields.words)
  const { before, word } = assigned
  const prefix = Math.max(fields.prefix, assigned.prefix)
  const found = await suggestions(before, word, table)
  if (found.includes('files')) return [':files']
  return found
    .filter((one) => one !== 'files')
    .filter((one) => PLAIN.test(one.word) && one.word.startsWith(word))
    .map((one) => `${one.word.slice(prefix)}\t${cleanLine(one.about)}`)
}

/** bash splits `-i pace=slow` into four words: the field and its value become one word again, also at the cursor. */
function joinFields(typed: readonly string[]): { words: string[]; prefix: number } {
  const words: string[] = []
  let equals = -1
  let prefix = 0
  for (const [at, one] of typed.entries()) {
    const [flag, field = ''] = words.slice(-2)
    const isField = words.length >= 2 && (flag === '-i' || flag === '--input')
    const isEquals = isField && one === '=' && !field.includes('=')
    prefix = isEquals ? field.length + 1 : isField && equals === at - 1 && at > 0 ? field.length : 0
    if (isEquals) equals = at
    if (prefix > 0) words[words.length - 1] = `${field}${one}`
    else words.push(one)
  }
  return { words, prefix }
}

/** bash splits `--flag=va` into three words and expects a completion of the last one only. */
function joinAssignments(typed: readonly string[]): { before: string[]; word: string; prefix: number } {
  const words = [...typed]
  const word = words.pop() ?? ''
  const last = words.at(-1) ?? ''
  if (word === '=' && last.startsWith('--'))
    return { before: words.slice(0, -1), word: `${last}=`, prefix: last.length + 1 }
  const flag = words.at(-2) ?? ''
  if (last !== '=' || !flag.startsWith('--')) return { before: words, word, prefix: 0 }
  return { before: words.slice(0, -2), word: `${flag}=${word}`, prefix: flag.length + 1 }
}

async function suggestions(typed: readonly string[], word: string, table: CommandTable): Promise<Suggestion[]> {
  const { before, after: words } = splitFlagsBefore(typed)
  const chosen = choiceIn(before)
  if (words.length === 0 && before.at(-1) === '--context') return contexts()
  const [first, second] = words
  if (first === undefined) return word.startsWith('-') ? globals() : await firstWords(table)
  if (first === 'help')
    return words.length === 1 ? [...topics(), ...(await firstWords(table))] : await verbs(second, table)
  if (table.nouns.includes(first) && words.length === 1) return await verbs(first, table)
  for (const [id, used] of [[`${first}:${second}`, 2] as const, [first, 1] as const]) {
    const load = Object.hasOwn(table.commands, id) ? table.commands[id] : undefined
    if (load === undefined) continue
    const canonical = table.shortForms.includes(id) ? `instance:${id}` : id
    return await insideCommand(canonical, (await load()).default as Described, {
      rest: words.slice(used),
      word,
      chosen,
    })
  }
  return []
}

async function firstWords({ commands, nouns, shortForms }: CommandTable): Promise<Suggestion[]> {
  const single = Object.keys(commands).filter((id) => !id.includes(':'))
  return [
    ...nouns.map((noun) => ({ word: noun, about: `commands for ${noun}s` })),
    ...(await Promise.all(
      single.map(async (id) => {
        const about = shortForms.includes(id) ? `short for instance ${id}` : await summaryOf(commands[id])
        return { word: id, about }
      }),
    )),
    { word: 'help', about: 'help for a command or a topic' },
    { word: 'version', about: 'the version' },
  ]
}

async function verbs(noun: string | undefined, { commands }: CommandTable): Promise<Suggestion[]> {
  const ids = Object.keys(commands).filter((id) => id.startsWith(`${noun}:`))
  return await Promise.all(
    ids.map(async (id) => ({ word: id.slice(`${noun}:`.length), about: await summaryOf(commands[id]) })),
  )
}

async function summaryOf(load: CommandTable['commands'][string] | undefined): Promise<string> {
  return ((await load?.())?.default as Described | undefined)?.summary ?? ''
}

function topics(): Suggestion[] {
  return Object.entries(TOPICS).map(([word, { summary }]) => ({ word, about: summary }))
}

function globals(): Suggestion[] {
  const about: Record<string, string> = { '--help': 'the commands', '--version': 'the version' }
  return [...FLAGS_BEFORE, ...Object.keys(about)].map((word) => ({
    word,
    about: about[word] ?? '',
  }))
}

/** The server that these flags choose, as far as they are given. */
function choiceIn(words: readonly string[]): ServerFlags {
  const given = (flag: string) => {
    const at = words.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`))
    const found = words[at]
    return found === undefined || found !== flag ? found?.slice(flag.length + 1) : words[at + 1]
  }
  const [server, context] = [given('--server'), given('--context')]
  return { ...(server === undefined ? {} : { server }), ...(context === undefined ? {} : { context }) }
}

async function contexts(): Promise<Suggestion[]> {
  return (await import('./completion-values.ts')).contextNames()
}

async function insideCommand(
  id: string,
  command: Described,
  { rest, word, chosen: before }: { rest: readonly string[]; word: string; chosen: ServerFlags },
): Promise<Suggestion[]> {
  const flags = { ...command.baseFlags, ...command.flags }
  if (command.place !== undefined && command.place !== 'anywhere') delete flags['server']
  if (command.place === 'always here') delete flags['context']
  const named = (given: string) =>
    Object.entries(flags).find(
      ([name, { char }]) => given === `--${name}` || (char !== undefined && given === `-${char}`),
    )
  const positional: string[] = []
  const used = new Set<string>()
  const chosen = { ...before, ...choiceIn(rest) }
  const fields: string[] = []
  let open: [string, DescribedFlag] | undefined
  for (const one of rest) {
    if (open !== undefined) {
      if (open[0] === 'input') fields.push(one)
      open = undefined
      continue
    }
    const flag = one.startsWith('-') ? named(one.split('=')[0] ?? one) : undefined
    if (flag !== undefined) used.add(flag[0])
    if (flag === undefined && !one.startsWith('-')) positional.push(one)
    else if (flag?.[1].type === 'option' && !one.includes('=')) open = flag
  }
  const values = async (name: string, options: readonly string[] | undefined): Promise<Suggestion[]> => {
    if (options !== undefined) return options.map((value) => ({ word: value, about: '' }))
    return await (await import('./completion-values.ts')).valuesOf({
      command: id,
      name,
      positional,
      chosen,
      fields,
      word,
    })
  }
  if (open !== undefined) return await values(`--${open[0]}`, open[1].options)
  const assigned = /^(--[a-z-]+)=/.exec(word)?.[1]
  if (assigned !== undefined) {
    const flag = named(assigned)
    const found = flag === undefined ? [] : await values(`--${flag[0]}`, flag[1].options)
    return found.map((one) => (one === 'files' ? one : { ...one, word: `${assigned}=${one.word}` }))
  }
  if (word.startsWith('-')) {
    return Object.entries(flags)
      .filter(([name, { multiple }]) => !used.has(name) || multiple === true)
      .map(([name, { description = '' }]) => ({ word: `--${name}`, about: description }))
  }
  const args = Object.entries(command.args ?? {})
  const arg = args[positional.length] ?? (id === 'instance:wait' ? args[0] : undefined)
  if (arg === undefined) return []
  return arg[0] === 'shell' ? SHELLS.map((shell) => ({ word: shell, about: '' })) : await values(arg[0], arg[1].options)
}
