/**
 * The tour's own view of its instance: what is being built, part by part. An ES module without a build step; the page calls
 * `mount(container, props)` in a frame of its own, and the cleanup it answers is called when the view goes.
 */

const SHAPES = {
  foundations: 'M40 196h160v18H40z',
  walls: 'M62 100h116v96H62z',
  windows: 'M82 122h28v30H82zM130 122h28v30h-28zM106 166h28v30h-28z',
  roof: 'M46 100L120 44l74 56z',
}

const COLORS = { foundations: '#8a8f8c', walls: '#c9a67a', windows: '#7fb6d6', roof: '#b4523f' }

const STYLE = `
  .tour { display: grid; justify-items: center; gap: 10px; padding: 18px; color: CanvasText; font: 15px/1.5 system-ui, sans-serif; }
  .tour svg { width: min(420px, 90vw); }
  .tour path { fill: none; stroke: GrayText; stroke-dasharray: 4 4; }
  .tour path[data-built] { fill: var(--part); stroke: none; }
  .tour ul { display: flex; flex-wrap: wrap; justify-content: center; gap: 4px 18px; margin: 0; padding: 0; list-style: none; }
  .tour button { font: inherit; padding: 5px 14px; }
`

export default function mount(container, props) {
  const root = element('div', { class: 'tour' })
  const title = element('strong', {})
  const drawing = svg('svg', { viewBox: '0 0 240 224', role: 'img' })
  const list = element('ul', {})
  const survey = element('p', {})
  const style = element('style', {})
  style.textContent = STYLE
  const shapes = Object.entries(SHAPES).map(([part, d]) => {
    const path = svg('path', { d, 'data-part': part })
    path.style.setProperty('--part', COLORS[part])
    drawing.append(path)
    return { part, path }
  })
  root.append(style, title, drawing, list, survey)
  container.append(root)

  const draw = () => {
    const built = props.state?.completed_steps ?? []
    title.textContent = `${props.resolverName}: ${built.length} of ${shapes.length} parts, ${props.status}`
    drawing.setAttribute('aria-label', `Built so far: ${built.join(', ') || 'nothing'}`)
    for (const { part, path } of shapes) path.toggleAttribute('data-built', built.includes(part))
    list.replaceChildren(
      ...shapes.map(({ part }) => {
        const item = element('li', {})
        item.textContent = `${built.includes(part) ? '✓' : '○'} ${part}`
        return item
      }),
    )
  }
  const read = async () => {
    const file = await props.fetchData('survey.md').catch(() => undefined)
    if (file?.ok) survey.textContent = (await file.text()).replace(/^#.*\n+/, '')
  }
  draw()
  void read()
  const forget = props.onEvent(({ event_type, data }) => {
    if (event_type.endsWith('.data_changed') && data.paths?.includes('survey.md')) void read()
  })
  // State comes on its own, beside the events.
  const timer = setInterval(draw, 500)
  return () => {
    forget()
    clearInterval(timer)
    root.remove()
  }
}

function element(name, attributes) {
  return dressed(document.createElement(name), attributes)
}

function svg(name, attributes) {
  return dressed(document.createElementNS('http://www.w3.org/2000/svg', name), attributes)
}

function dressed(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  return made
}
