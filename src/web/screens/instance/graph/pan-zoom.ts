/** Zoom and pan of a drawing in a box that scrolls: buttons and keys zoom, dragging and scrolling move. */
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'

const STEP = 1.25
const LEAST = 0.1
const MOST = 4
/** Pixels of a movement that is a drag and no click. */
const DRAG_PX = 5

export interface Zoom {
  into: () => void
  out: () => void
  toFit: () => void
}

/** `drawing`: changes when there is another drawing in the box. */
export function usePanZoom(box: RefObject<HTMLElement | null>, drawing: unknown): Zoom {
  const [factor, setFactor] = useState(1)
  /** Until a reader zooms, the whole drawing is shown, also in a box of another size. */
  const isFitted = useRef(true)
  const toFit = useCallback(() => {
    isFitted.current = true
    setFactor(fitting(box.current))
  }, [box])
  const change = useCallback((by: number) => {
    isFitted.current = false
    setFactor((now) => Math.min(MOST, Math.max(LEAST, now * by)))
  }, [])
  useEffect(() => {
    if (drawing !== undefined) toFit()
  }, [drawing, toFit])
  useEffect(() => {
    const svg = box.current?.querySelector('svg')
    const size = svg?.viewBox.baseVal
    if (svg === null || svg === undefined || size === undefined) return
    svg.setAttribute('width', String(size.width * factor))
    svg.setAttribute('height', String(size.height * factor))
  }, [box, factor, drawing])
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const resized = new ResizeObserver(() => isFitted.current && toFit())
    resized.observe(element)
    const gone = new AbortController()
    const options = { signal: gone.signal }
    element.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return
        event.preventDefault()
        change(event.deltaY < 0 ? STEP : 1 / STEP)
      },
      { ...options, passive: false },
    )
    element.addEventListener(
      'keydown',
      ({ key }) => {
        if (key === '+' || key === '=') change(STEP)
        else if (key === '-') change(1 / STEP)
        else if (key === '0') toFit()
      },
      options,
    )
    addDragging(element, options)
    return () => {
      gone.abort()
      resized.disconnect()
    }
  }, [box, change, toFit])
  return { into: () => change(STEP), out: () => change(1 / STEP), toFit }
}

/** The whole drawing, not larger than it was drawn. */
function fitting(box: HTMLElement | null): number {
  const size = box?.querySelector('svg')?.viewBox.baseVal
  if (box === null || size === undefined || size.width === 0 || size.height === 0) return 1
  const style = getComputedStyle(box)
  const padding = Number.parseFloat(style.paddingLeft) * 2
  const wide = (box.clientWidth - padding) / size.width
  const high = (Number.parseFloat(style.maxHeight) - padding) / size.height
  return Math.max(LEAST, Math.min(1, wide, Number.isFinite(high) ? high : 1))
}

function addDragging(element: HTMLElement, options: { signal: AbortSignal }): void {
  let from: { x: number; y: number; left: number; top: number } | undefined
  let hasMoved = false
  element.addEventListener(
    'pointerdown',
    ({ clientX: x, clientY: y, button, pointerType }) => {
      // A finger scrolls by itself.
      if (button !== 0 || pointerType === 'touch') return
      from = { x, y, left: element.scrollLeft, top: element.scrollTop }
      hasMoved = false
    },
    options,
  )
  window.addEventListener(
    'pointermove',
    ({ clientX, clientY }) => {
      if (from === undefined) return
      const [x, y] = [clientX - from.x, clientY - from.y]
      if (Math.hypot(x, y) > DRAG_PX) hasMoved = true
      if (hasMoved) element.scrollTo(from.left - x, from.top - y)
    },
    options,
  )
  window.addEventListener(
    'pointerup',
    () => {
      from = undefined
    },
    options,
  )
  element.addEventListener(
    'click',
    (event) => {
      if (hasMoved) event.stopImmediatePropagation()
      hasMoved = false
    },
    { ...options, capture: true },
  )
}
