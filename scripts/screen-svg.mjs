/**
 * Turns tmux's output (`capture-pane -e`, rows with their colours) into an SVG: one picture, or several that follow each other.
 * Text stays text, in any monospace font; every run of characters is aligned to its columns. record-screens.mjs uses it.
 */

const COLUMN = 8.4
const ROW = 18
const EDGE = 12

/** The eight colours and their bright variants, on a dark background. */
// biome-ignore format: a table
const PALETTE = {
  30: '#484f58', 31: '#ff7b72', 32: '#3fb950', 33: '#d29922', 34: '#58a6ff', 35: '#bc8cff', 36: '#39c5cf', 37: '#b1bac4',
  90: '#6e7681', 91: '#ffa198', 92: '#56d364', 93: '#e3b341', 94: '#79c0ff', 95: '#d2a8ff', 96: '#56d4dd', 97: '#f0f6fc',
}
const GROUND = '#0d1117'
const INK = '#c9d1d9'

/** `frames` are `{screen, seconds}`; a single frame is a still picture. */
export function screenSvg({ frames, columns, rows, title }) {
  const width = Math.ceil(columns * COLUMN + 2 * EDGE)
  const height = rows * ROW + 2 * EDGE
  const total = frames.reduce((sum, { seconds }) => sum + seconds, 0)
  let begun = 0
  const rules = []
  const groups = frames.map(({ screen, seconds }, at) => {
    const from = percent(begun / total)
    begun += seconds
    const to = percent(begun / total)
    if (frames.length > 1) rules.push(...ruleOf(at, from, to, total))
    return `<g class="frame f${at}">\n${rowsOf(screen, rows)}\n</g>`
  })
  const calm = `@media (prefers-reduced-motion: reduce) { .frame { animation: none; visibility: hidden } .f${frames.length - 1} { visibility: visible } }`
  const style = frames.length > 1 ? `<style>\n${rules.join('\n')}\n${calm}\n</style>\n` : ''
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
<title>${escaped(title)}</title>
${style}<rect width="${width}" height="${height}" rx="8" fill="${GROUND}"/>
${groups.join('\n')}
</svg>
`
}

function ruleOf(at, from, to, total) {
  const on = 'visibility: visible'
  const off = 'visibility: hidden'
  const before = at === 0 ? [] : [`0% { ${off} }`]
  const steps = [...before, `${from} { ${on} }`, ...(to === '100%' ? [] : [`${to} { ${off} }`])]
  // A viewer without animation shows the last frame.
  return [
    `@keyframes k${at} { ${steps.join(' ')} }`,
    `.f${at} { visibility: ${to === '100%' ? 'visible' : 'hidden'}; animation: k${at} ${round(total)}s step-end infinite }`,
  ]
}

function percent(part) {
  return `${Number((part * 100).toFixed(3))}%`
}

function rowsOf(screen, rows) {
  const lines = screen.split('\n').slice(0, rows)
  let style = {}
  return lines
    .map((line, row) => {
      const { spans, after } = spansOf(line, style)
      style = after
      return spans.map((span) => spanSvg(span, row)).join('')
    })
    .filter((text) => text !== '')
    .join('\n')
}

/** A row as runs of one style: `{text, column, style}`. */
function spansOf(line, before) {
  let style = before
  let column = 0
  const spans = []
  for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
    if (part.startsWith('\u001b[')) style = styled(style, part.slice(2, -1))
    else if (part !== '') {
      spans.push({ text: part, column, style })
      column += part.length
    }
  }
  return { spans, after: style }
}

function styled(before, codes) {
  let style = { ...before }
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) style = {}
    else if (code === 1) style.bold = true
    else if (code === 2) style.dim = true
    else if (code === 7) style.inverse = true
    else if (code === 22) style = { ...style, bold: false, dim: false }
    else if (code === 27) style.inverse = false
    else if (code === 39) style.color = undefined
    else if (code in PALETTE) style.color = PALETTE[code]
  }
  return style
}

function spanSvg({ text, column, style }, row) {
  const color = style.color ?? INK
  const x = round(EDGE + column * COLUMN)
  const y = EDGE + row * ROW
  const length = round(text.length * COLUMN)
  const coordination = style.inverse
    ? `<rect x="${x}" y="${y}" width="${length}" height="${ROW}" fill="${color}"/>`
    : ''
  if (text.trim() === '') return coordination
  const marks = [
    ['fill', style.inverse ? GROUND : color],
    ...(style.bold ? [['font-weight', 'bold']] : []),
    ...(style.dim ? [['opacity', '0.65']] : []),
  ]
  const given = marks.map(([name, value]) => ` ${name}="${value}"`).join('')
  return `${coordination}<text x="${x}" y="${y + 13}" textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"${given}>${escaped(text)}</text>`
}

function round(number) {
  return Number(number.toFixed(1))
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
