/** Finds what comments and test titles cite: pages of the repository, their sections and ids, requirements, linked files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { requirements } from '../spec/requirements.ts'
import { root } from './source-files.ts'

/** The pages that are cited by a short name: "spec, Events", "threats FS-13", "architecture, decision 2". */
const PAGES: Readonly<Record<string, string>> = {
  spec: 'docs/spec.md',
  threats: 'docs/threats.md',
  reliability: 'docs/reliability.md',
  'on-disk': 'docs/on-disk.md',
  architecture: 'ARCHITECTURE.md',
}
/** Names of pages that are not in the repository. A comment that cites one leads its reader nowhere. */
const ABSENT = /(?<=[(;] ?|R\d+, )(?:plan|rulings|style|web)(?=[,;)]| [a-z]+ \d)/g

const SHORT = Object.keys(PAGES).join('|')
const ITEM = /^(?:,? (?:rules? |decisions? )?\d+(?: and \d+)*)?(?=[.,;:)'`]|$|\s)/
const ID_LIST = /(?:[A-Z]+-?\d+(?:[…–][A-Z]*-?\d+)?)(?:, (?=[A-Z]+-?\d)(?!R\d|S-)[A-Z]+-?\d+)*/.source

const BY_ID = new RegExp(`\\b(threats|reliability) (${ID_LIST})`, 'gi')
const BY_HEADING = new RegExp(`(?<=(?:[(;,]|\\bsee|/\\*\\*|//|\\*) ?)(${SHORT})(?:,\\s+|: (?=\\w+\\.))`, 'g')
const PATH = /(?<![\w/.-])(?:\.\/)?((?:[\w.-]+\/)*[\w.-]+\.md)(?:, (?=[A-Z]))?/g
const LINK = /\{@link file:\/\/(\S+?)[\s}|]/g
const REQUIREMENT = /(?<![\w-])(?:R\d{1,2}|S-[A-Z]+-\d+)\b/g

export interface Broken {
  place: string
  citation: string
}

/** Comments keep their offsets; the frame of a block comment becomes blanks, so that a citation may go over a line's end. */
const TOKEN = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
const TITLE = /\b(?:test|it|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*$/

/** What a file says to its readers: its comments, and the titles of its tests. A page says everything. */
function proseOf(path: string, text: string): string {
  if (path.endsWith('.md')) return text
  const shell = !/\.[cm]?[jt]sx?$/.test(path)
  let prose = ''
  let at = 0
  for (const match of text.matchAll(shell ? /(?<=^|\s)#.*$/gm : TOKEN)) {
    const [token] = match
    const isComment = shell || token.startsWith('/')
    const isTitle = !isComment && TITLE.test(text.slice(Math.max(0, match.index - 60), match.index))
    if (!isComment && !isTitle) continue
    prose += text.slice(at, match.index).replace(/[^\n]/g, ' ')
    prose += token
    at = match.index + token.length
  }
  return prose + text.slice(at).replace(/[^\n]/g, ' ')
}

const flowing = (prose: string) =>
  prose.replace(/\n[ \t]*(?:\*(?!\/)|\/\/)?[ \t]*/g, (gap) => gap.replace(/[^\n]/g, ' '))

/** Every citation in `text` that leads nowhere, with file and line. */
export function brokenCitations(path: string, text: string): Broken[] {
  const prose = flowing(proseOf(path, text))
  const broken: Broken[] = []
  const report = (at: number, citation: string) => {
    broken.push({
      place: `${path}:${prose.slice(0, at).split('\n').length}`,
      citation: citation.replace(/\s+/g, ' ').trim(),
    })
  }
  for (const match of prose.matchAll(BY_ID)) {
    const page = (match[1] ?? '').toLowerCase()
    for (const id of idsIn(match[2] ?? ''))
      if (!pageOf(PAGES[page] ?? '').ids.has(id)) report(match.index, `${page} ${id}`)
  }
  for (const match of prose.matchAll(BY_HEADING)) {
    const rest = prose.slice(match.index + match[0].length, match.index + match[0].length + 120).replace(/\s+/g, ' ')
    if (!namesSection(PAGES[match[1] ?? ''] ?? '', rest)) report(match.index, `${match[0]}${shortOf(rest)}`)
  }
  for (const match of prose.matchAll(PATH)) {
    const [cited, file = ''] = match
    if (FOREIGN.includes(file)) continue
    const isHere =
      existsSync(join(root, file)) || (path.endsWith('.md') && existsSync(resolve(root, dirname(path), file)))
    if (!isHere) report(match.index, file)
    else if (cited.endsWith(', ') && !path.endsWith('.md')) {
      const rest = prose.slice(match.index + cited.length, match.index + cited.length + 120).replace(/\s+/g, ' ')
      if (!namesSection(file, rest)) report(match.index, `${cited}${shortOf(rest)}`)
    }
  }
  for (const match of prose.matchAll(LINK)) {
    if (!existsSync(resolve(root, dirname(path), match[1] ?? ''))) report(match.index, match[0])
  }
  for (const match of prose.matchAll(REQUIREMENT)) if (!REQUIREMENTS.has(match[0])) report(match.index, match[0])
  for (const match of prose.matchAll(ABSENT)) report(match.index, match[0])
  return broken
}

/** Files of other repositories that sessions read. */
const FOREIGN = ['AGENTS.md', 'CLAUDE.md', 'SKILL.md']

const shortOf = (rest: string) => /^[^;)]{0,40}/.exec(rest)?.[0] ?? ''

/** `FS-1…3`, `B1–B3`: the ends are what is looked up. */
function idsIn(list: string): string[] {
  return list.split(', ').flatMap((item) => {
    const [first = '', last] = item.split(/[…–]/)
    const prefix = /^[A-Z]+-?/.exec(first)?.[0] ?? ''
    return last === undefined ? [first] : [first, /^\d/.test(last) ? prefix + last : last]
  })
}

interface Page {
  /** Headings, first cells of tables, the words before a colon and key phrases; with the numbers of the list below each. */
  sections: Map<string, Set<string>>
  /** `FS-1`, `B4`, `F7`: in bold in a first cell, or before a full stop in a heading. */
  ids: Set<string>
}

const pages = new Map<string, Page>()

function pageOf(path: string): Page {
  const known = pages.get(path)
  if (known !== undefined) return known
  const page: Page = { sections: new Map(), ids: new Set() }
  let below: Set<string>[] = []
  for (const line of readFileSync(join(root, path), 'utf8').split('\n')) {
    const heading = /^#+ +(.*)$/.exec(line)?.[1]
    const cell = /^\| *(.*?) *\|/.exec(line)?.[1]
    const leadIn = /^([A-Z][\w ().-]{2,120}):/.exec(line)?.[1]
    const id = /^\*\*([A-Z]+-?\d+)\*\*/.exec(cell ?? '')?.[1] ?? /^([A-Z]+\d+)\. /.exec(heading ?? '')?.[1]
    if (id !== undefined) page.ids.add(id)
    if (heading !== undefined) below = [numbersBelow(page, heading)]
    else if (leadIn !== undefined) below = [...below.slice(0, 1), numbersBelow(page, leadIn)]
    else if (cell !== undefined) numbersBelow(page, cell)
    const number = /^(\d+)\. /.exec(line)?.[1]
    if (number !== undefined) for (const numbers of below) numbers.add(number)
  }
  pages.set(path, page)
  return page
}

function numbersBelow({ sections }: Page, name: string): Set<string> {
  const plain = name.replaceAll(/[`*]/g, '').replace(/^async /, '')
  const numbers = sections.get(plain) ?? new Set()
  for (const term of [plain, plain.replace(/ *\(.*$/, ''), plain.replace(/\(.*$/, '()')]) {
    if (term.length > 2) sections.set(term, numbers)
  }
  return numbers
}

/** Whether `rest` begins with the name of a section, or with its first words; a number after it is one of that section's list. */
function namesSection(path: string, rest: string): boolean {
  const decisions = /^decisions? (\d+(?: and \d+)*)/.exec(rest)?.[1]
  if (decisions !== undefined) return hasNumbers(pageOf(path).sections.get('Three decisions'), decisions)
  return [...pageOf(path).sections].some(([name, numbers]) => {
    const isWhole = rest.toLowerCase().startsWith(name.toLowerCase())
    const cited = isWhole ? name : (/^[\w`./-]+(?: [A-Za-z][\w-]*)*/.exec(rest)?.[0] ?? '').replace(/\.$/, '')
    const begins = cited.length > 2 && `${name} `.toLowerCase().startsWith(`${cited.toLowerCase()} `)
    const item = isWhole || begins ? ITEM.exec(rest.slice(cited.length)) : null
    return item !== null && hasNumbers(numbers, item[0])
  })
}

function hasNumbers(numbers: Set<string> | undefined, cited: string): boolean {
  return numbers !== undefined && (cited.match(/\d+/g) ?? []).every((number) => numbers.has(number))
}

const REQUIREMENTS = new Set(requirements.map(({ id }) => id))

const TEXTS = /\.(?:[cm]?[jt]sx?|md)$/
/** The pages that name what is not ours to resolve: the specification, and what was written at the time of a decision. */
const UNREAD = /^docs\/spec\.md$/

/** Every text of the repository that may cite: sources, tests, tools and pages. */
export function citingFiles(): string[] {
  const below = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`)
  const folders = ['src', 'test', 'bench', 'scripts', 'bin', 'templates', 'docs'].flatMap(below)
  const here = readdirSync(root).filter((file) => /^(?:tsup|vite|vitest)\.config\.ts$|\.md$/.test(file))
  const found = [...folders, ...here].filter((file) => TEXTS.test(file) && !/node_modules|\/dist\//.test(file))
  return [...found.filter((file) => !UNREAD.test(file)), '.ci/run'].sort()
}
