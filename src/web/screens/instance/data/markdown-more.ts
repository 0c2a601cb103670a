/**
 * Adds to a parsed Markdown text what GitHub has and CommonMark has not: tables, task lists, struck text and bare links. It changes the
 * tree of the parser, so that nothing is ever HTML. Pure but for the tree that it is given.
 */

export interface Node {
  type: string
  value?: string
  children?: Node[]
  url?: string
  checked?: boolean | null
  align?: (string | null)[]
}

/** Cells of all tables together; later tables stay text. */
const CELLS_MAX = 5_000

/** A plugin of the parser. */
export function markdownMore() {
  return (tree: Node): void => {
    const budget = { cells: CELLS_MAX }
    change(tree, budget)
  }
}

function change(node: Node, budget: { cells: number }): void {
  if (node.children === undefined || node.type === 'link' || node.type === 'linkReference') return
  if (node.type === 'listItem') markTask(node)
  node.children = node.children.flatMap((child) => (child.type === 'paragraph' ? tablesIn(child, budget) : [child]))
  node.children = node.children.flatMap((child) => (child.type === 'text' ? inlineOf(child.value ?? '') : [child]))
  for (const child of node.children) change(child, budget)
}

function markTask(item: Node): void {
  const text = item.children?.[0]?.type === 'paragraph' ? item.children[0].children?.[0] : undefined
  const found = /^\[([ xX])\]\s+/.exec(text?.type === 'text' ? (text.value ?? '') : '')
  if (found === null || text === undefined) return
  item.checked = found[1] !== ' '
  text.value = (text.value ?? '').slice(found[0].length)
}

const LINK = /https?:\/\/[^\s<>]*[^\s<>.,;:!?'")\]}*_~]/g
const INLINE = new RegExp(`(~~)(?=\\S)([^~\\n]*[^~\\s])~~|${LINK.source}`, 'g')

function inlineOf(value: string): Node[] {
  const nodes: Node[] = []
  let from = 0
  for (const match of value.matchAll(INLINE)) {
    if (match.index > from) nodes.push({ type: 'text', value: value.slice(from, match.index) })
    const [whole, tildes, struck = ''] = match
    const text = { type: 'text', value: tildes === undefined ? whole : struck }
    // A struck text is not looked at again: it holds no tildes.
    nodes.push(
      tildes === undefined ? { type: 'link', url: whole, children: [text] } : { type: 'delete', children: [text] },
    )
    from = match.index + whole.length
  }
  if (nodes.length === 0) return [{ type: 'text', value }]
  if (from < value.length) nodes.push({ type: 'text', value: value.slice(from) })
  return nodes
}

/** One line of a paragraph: its cells, and its nodes as they were. */
interface Line {
  cells: Node[][]
  nodes: Node[]
  hasBars: boolean
}

function tablesIn(paragraph: Node, budget: { cells: number }): Node[] {
  const lines = linesOf(paragraph.children ?? [])
  const at = lines.findIndex((line, index) => index > 0 && isRule(line, lines[index - 1] as Line))
  if (at === -1) return [paragraph]
  const rows = [lines[at - 1] as Line, ...lines.slice(at + 1)]
  const width = cellsOf(rows[0] as Line).length
  budget.cells -= rows.length * width
  if (budget.cells < 0) return [paragraph]
  const align = cellsOf(lines[at] as Line).map((cell) => alignOf(textOf(cell)))
  const children = rows.map((row) => {
    const cells = cellsOf(row)
    const wide = Array.from({ length: width }, (_, column) => cells[column] ?? [])
    return { type: 'tableRow', children: wide.map((inside) => ({ type: 'tableCell', children: inside })) }
  })
  const before = lines.slice(0, at - 1).flatMap(({ nodes }, index) => [...(index === 0 ? [] : [LINE_END]), ...nodes])
  return [...(before.length === 0 ? [] : [{ type: 'paragraph', children: before }]), { type: 'table', align, children }]
}

const LINE_END: Node = { type: 'text', value: '\n' }

function linesOf(children: readonly Node[]): Line[] {
  const lines: Line[] = [{ cells: [[]], nodes: [], hasBars: false }]
  for (const child of children) {
    if (child.type !== 'text') {
      const line = lines.at(-1) as Line
      line.nodes.push(child)
      line.cells.at(-1)?.push(child)
      continue
    }
    for (const [index, text] of (child.value ?? '').split('\n').entries()) {
      if (index > 0) lines.push({ cells: [[]], nodes: [], hasBars: false })
      const line = lines.at(-1) as Line
      if (text !== '') line.nodes.push({ type: 'text', value: text })
      for (const [cell, part] of text.split('|').entries()) {
        if (cell > 0) {
          line.cells.push([])
          line.hasBars = true
        }
        if (part !== '') line.cells.at(-1)?.push({ type: 'text', value: part })
      }
    }
  }
  return lines
}

function isRule(line: Line, head: Line): boolean {
  const cells = cellsOf(line)
  const isRuler =
    line.nodes.every(({ type }) => type === 'text') && cells.every((cell) => /^\s*:?-+:?\s*$/.test(textOf(cell)))
  return isRuler && head.hasBars && line.hasBars && cellsOf(head).length === cells.length
}

/** Without the empty cells before the first bar and after the last one; their texts without white space around. */
function cellsOf({ cells, hasBars }: Line): Node[][] {
  const isBlank = (cell: Node[] | undefined) =>
    cell?.every(({ type, value }) => type === 'text' && value?.trim() === '') === true
  const from = hasBars && isBlank(cells[0]) ? 1 : 0
  const to = hasBars && cells.length > from && isBlank(cells.at(-1)) ? cells.length - 1 : cells.length
  return cells.slice(from, to).map(trimmed)
}

function trimmed(cell: Node[]): Node[] {
  return cell
    .map((node, index) => {
      if (node.type !== 'text') return node
      let value = node.value ?? ''
      if (index === 0) value = value.trimStart()
      if (index === cell.length - 1) value = value.trimEnd()
      return { ...node, value }
    })
    .filter(({ type, value }) => type !== 'text' || value !== '')
}

function textOf(cell: readonly Node[]): string {
  return cell.map(({ value = '' }) => value).join('')
}

function alignOf(rule: string): string | null {
  const text = rule.trim()
  const [isLeft, isRight] = [text.startsWith(':'), text.endsWith(':')]
  return isLeft && isRight ? 'center' : isRight ? 'right' : isLeft ? 'left' : null
}
