/** Copies the SVG of Graphviz and keeps only shapes and text: no links, scripts, styles or images of the author. */

const NAMESPACE = 'http://www.w3.org/2000/svg'
const ELEMENTS = new Set([
  'svg',
  'g',
  'title',
  'polygon',
  'polyline',
  'path',
  'ellipse',
  'circle',
  'rect',
  'text',
  'tspan',
])
const ATTRIBUTES = new Set(
  'viewBox width height points d cx cy rx ry r x y dx dy transform text-anchor font-size font-weight stroke-dasharray stroke-width'.split(
    ' ',
  ),
)

/** `class` and ids come only from this function: the groups `node` and `edge` of Graphviz, with their title as `data-node`. */
export function safeSvg(drawn: Element): SVGSVGElement {
  return copy(drawn) as SVGSVGElement
}

function copy(from: Element): Element {
  const to = document.createElementNS(NAMESPACE, from.localName)
  for (const { name, value } of from.attributes) if (ATTRIBUTES.has(name)) to.setAttribute(name, value)
  const kind = from.getAttribute('class')
  if (from.localName === 'g' && (kind === 'node' || kind === 'edge' || kind === 'cluster' || kind === 'graph')) {
    to.setAttribute('class', kind)
    const title = [...from.children].find((child) => child.localName === 'title')?.textContent ?? ''
    if (kind === 'node') to.setAttribute('data-node', title)
    if (kind === 'edge') to.setAttribute('data-edge', title)
  }
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) to.append(child.textContent ?? '')
    else if (child instanceof Element && child.namespaceURI === NAMESPACE) append(to, child)
  }
  return to
}

/** Keeps the content of a link without the link itself. */
function append(to: Element, child: Element): void {
  if (ELEMENTS.has(child.localName)) to.append(copy(child))
  else if (child.localName === 'a') for (const inner of child.children) append(to, inner)
}
