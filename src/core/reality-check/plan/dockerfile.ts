/** Reads the last stage of a Dockerfile: its port and the command of its image. */
import { quoteWord } from '../../primitives/quote-word.ts'
import { type Found, nothingFound, PlanFault } from './found.ts'
import { toPort } from './ports.ts'
import { type TreeReader, texts } from './tree-reader.ts'

/** The plan of software that is built from its Dockerfile. */
export async function detectDockerfile(tree: TreeReader): Promise<Found | undefined> {
  if (!(await tree.has('Dockerfile'))) return undefined
  const { base, port, command } = lastStage(await tree.text('Dockerfile'))
  if (base === null) throw new PlanFault('Dockerfile has no FROM: correct the file.')
  if (command === null) throw new PlanFault('Dockerfile has no CMD and no ENTRYPOINT: give environment.start.')
  return { ...nothingFound('docker', ['Dockerfile']), type: 'api_service', start: command, port }
}

/** The port that a Dockerfile exposes, where software is built without it. Ports below 1024 are those of a proxy before it. */
export async function exposedPort(tree: TreeReader): Promise<number | null> {
  const { port } = lastStage(await tree.text('Dockerfile'))
  return port !== null && port >= 1024 ? port : null
}

interface Image {
  base: string | null
  port: number | null
  command: string | null
}

function lastStage(source: string): Image {
  const values = new Map<string, string>()
  let stage: { base: string | null; port: number | null; entry: string | null; cmd: string | null } = none()
  for (const line of joinedLines(source)) {
    const [, word = '', rest = ''] = /^\s*(\w+)\s+(.*)$/s.exec(line) ?? []
    const instruction = word.toUpperCase()
    if (instruction === 'FROM') stage = { ...none(), base: rest.trim() }
    else if (instruction === 'ENV' || instruction === 'ARG') remember(values, rest)
    else if (instruction === 'EXPOSE') stage.port ??= toPort(/\d+/.exec(filledIn(rest, values))?.[0])
    else if (instruction === 'ENTRYPOINT') stage.entry = commandOf(rest)
    else if (instruction === 'CMD') stage.cmd = commandOf(rest)
  }
  const command = [stage.entry, stage.cmd].filter(Boolean).join(' ')
  return { base: stage.base, port: stage.port, command: command === '' ? null : command }
}

const none = () => ({ base: null, port: null, entry: null, cmd: null })

function joinedLines(source: string): string[] {
  const lines = source.split(/\r?\n/).filter((line) => !/^\s*#/.test(line))
  return lines
    .join('\n')
    .replace(/\\[ \t]*\n/g, ' ')
    .split('\n')
}

function remember(values: Map<string, string>, rest: string): void {
  for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=["']?([^\s"']*)/g)) values.set(name, value)
  const [, name, value] = /^(\w+)\s+([^=\s]+)$/.exec(rest.trim()) ?? []
  if (name !== undefined && value !== undefined) values.set(name, value)
}

const filledIn = (text: string, values: Map<string, string>): string =>
  text.replace(/\$\{?(\w+)(?::-(\w+))?\}?/g, (_, name: string, otherwise = '') => values.get(name) ?? otherwise)

/** The words of the JSON form, quoted for a shell; the text of the shell form. */
function commandOf(rest: string): string | null {
  const trimmed = rest.trim()
  if (!trimmed.startsWith('[')) return trimmed === '' ? null : trimmed
  try {
    const words = texts(JSON.parse(trimmed))
    return words.length === 0 ? null : words.map(quoteWord).join(' ')
  } catch {
    return trimmed
  }
}
