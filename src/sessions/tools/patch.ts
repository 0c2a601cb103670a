/**
 * The patches that OpenAI's models write: reading one, and applying its chunks to a text. Pure. Lines are found as they are, or with other white
 * space at their ends; nothing else is guessed.
 */

/** A part of a file: the lines `@@` before it, then lines that stay, go and come. */
export interface Chunk {
  /** Lines after which it stands, each below the one before. */
  below: string[]
  lines: { sign: ' ' | '+' | '-'; text: string }[]
  /** It stands at the end of the file. */
  isEnd: boolean
}

export type FileChange =
  | { kind: 'add'; path: string; content: string }
  | { kind: 'delete'; path: string }
  | { kind: 'update'; path: string; to: string | undefined; chunks: Chunk[] }

export type Parsed = { changes: FileChange[] } | { problem: string }

const HEADER = /^\*\*\* (Add File|Delete File|Update File): (.+)$/
const MOVE = /^\*\*\* Move to: (.+)$/

export function parsePatch(text: string): Parsed {
  const lines = unwrapped(text.replaceAll('\r\n', '\n').trim().split('\n'))
  if (lines[0]?.trim() !== '*** Begin Patch') return { problem: 'The first line must be "*** Begin Patch".' }
  if (lines.at(-1)?.trim() !== '*** End Patch') return { problem: 'The last line must be "*** End Patch".' }
  const changes: FileChange[] = []
  const end = lines.length - 1
  let at = 1
  while (at < end) {
    const line = lines[at] ?? ''
    at += 1
    if (line.trim() === '') continue
    const [, kind = '', name = ''] = HEADER.exec(line.trim()) ?? []
    const path = name.trim()
    const body: string[] = []
    while (at < end && !HEADER.test((lines[at] ?? '').trim())) {
      body.push(lines[at] ?? '')
      at += 1
    }
    if (kind === '') return { problem: `"${line.slice(0, 200)}" is none of Add File, Delete File and Update File.` }
    if (kind === 'Delete File') {
      if (body.some((one) => one.trim() !== '')) return { problem: `Nothing follows "Delete File: ${path}".` }
      changes.push({ kind: 'delete', path })
    } else if (kind === 'Add File') {
      const odd = body.find((one) => !one.startsWith('+'))
      if (odd !== undefined)
        return { problem: `Each line of the new file ${path} begins with "+": "${odd.slice(0, 200)}".` }
      changes.push({ kind: 'add', path, content: body.map((one) => `${one.slice(1)}\n`).join('') })
    } else {
      const to = MOVE.exec((body[0] ?? '').trim())?.[1]?.trim()
      const chunks = parseChunks(to === undefined ? body : body.slice(1))
      if ('problem' in chunks) return { problem: `${path}: ${chunks.problem}` }
      if (chunks.list.length === 0 && to === undefined) return { problem: `${path}: there is no change.` }
      changes.push({ kind: 'update', path, to, chunks: chunks.list })
    }
  }
  return changes.length === 0 ? { problem: 'The patch is empty.' } : { changes }
}

/** Models write the patch as they would give it to a shell. */
function unwrapped(lines: string[]): string[] {
  return /^<<\s*['"]?EOF['"]?$/.test(lines[0] ?? '') && lines.at(-1)?.trim() === 'EOF' ? lines.slice(1, -1) : lines
}

function parseChunks(body: readonly string[]): { list: Chunk[] } | { problem: string } {
  const list: Chunk[] = []
  let chunk: Chunk = { below: [], lines: [], isEnd: false }
  const close = () => {
    if (chunk.lines.length > 0) list.push(chunk)
    chunk = { below: [], lines: [], isEnd: false }
  }
  for (const line of body) {
    if (line.trim() === '*** End of File') {
      chunk.isEnd = true
      close()
    } else if (line === '@@' || line.startsWith('@@ ')) {
      if (chunk.lines.length > 0) close()
      const text = line.slice(3)
      if (text.trim() !== '') chunk.below.push(text)
    } else {
      // An empty line stands for one that stays and is empty.
      const sign = line === '' ? ' ' : line[0]
      if (sign !== ' ' && sign !== '+' && sign !== '-')
        return { problem: `a line begins with " ", "+" or "-": "${line.slice(0, 200)}".` }
      chunk.lines.push({ sign, text: line.slice(1) })
    }
  }
  if (chunk.lines.length === 0 && chunk.below.length > 0) return { problem: 'lines must follow "@@".' }
  close()
  // An empty line before the next header stays where it is.
  for (const one of list) while (isBlankEnd(one)) one.lines.pop()
  return { list: list.filter(({ lines }) => lines.length > 0) }
}

function isBlankEnd({ lines }: Chunk): boolean {
  const last = lines.at(-1)
  return lines.length > 1 && last?.sign === ' ' && last.text === ''
}

export type Patched = { text: string } | { problem: string }

const BOM = '\ufeff'

/** Each chunk stands below the one before. Line ends stay as they are. */
export function applyChunks(text: string, chunks: readonly Chunk[]): Patched {
  const bom = text.startsWith(BOM) ? BOM : ''
  const body = text.slice(bom.length)
  const isCrlf = body.includes('\r\n') && !/(?<!\r)\n/.test(body)
  const before = (isCrlf ? body.replaceAll('\r\n', '\n') : body).split('\n')
  const hasEnd = before.at(-1) === ''
  if (hasEnd) before.pop()
  const after: string[] = []
  let done = 0
  for (const { below, lines, isEnd } of chunks) {
    let from = done
    for (const line of below) {
      const found = seek(before, [line], from, false)
      if (found === undefined)
        return { problem: `there is no line ${JSON.stringify(line.slice(0, 200))} below line ${from}.` }
      from = found + 1
    }
    const old = lines.filter(({ sign }) => sign !== '+').map((one) => one.text)
    // Lines that only come, without a place, come at the end.
    const place = old.length > 0 ? seek(before, old, from, isEnd) : below.length > 0 && !isEnd ? from : before.length
    if (place === undefined)
      return { problem: `these lines are not in it below line ${from}:\n${old.join('\n').slice(0, 1_000)}` }
    after.push(...before.slice(done, place))
    done = place
    for (const one of lines) {
      if (one.sign === '+') after.push(one.text)
      else {
        // As the file has it, with its own white space.
        if (one.sign === ' ') after.push(before[done] ?? '')
        done += 1
      }
    }
  }
  after.push(...before.slice(done))
  const end = hasEnd || before.length === 0 ? '\n' : ''
  const joined = after.length === 0 ? '' : after.join('\n') + end
  return { text: bom + (isCrlf ? joined.replaceAll('\n', '\r\n') : joined) }
}

function seek(lines: readonly string[], wanted: readonly string[], from: number, isEnd: boolean): number | undefined {
  const last = lines.length - wanted.length
  for (const same of [(a: string, b: string) => a === b, (a: string, b: string) => a.trimEnd() === b.trimEnd()]) {
    for (let at = isEnd ? Math.max(from, last) : from; at <= last; at += 1) {
      if (wanted.every((line, index) => same(lines[at + index] ?? '', line))) return at
    }
  }
  return undefined
}
