/** Draws a graph in a Web Worker: a large one takes seconds, and a hostile one any time. */
import type { Drawn } from './draw-worker.ts'

const LIMIT_MS = 20_000
const SVG_MAX_CHARS = 8 * 1024 * 1024

export function draw(dot: string, signal: AbortSignal): Promise<Drawn> {
  const worker = new Worker(new URL('./draw-worker.ts', import.meta.url), { type: 'module' })
  return new Promise((resolve) => {
    const end = (drawn: Drawn) => {
      clearTimeout(limit)
      worker.terminate()
      resolve(drawn)
    }
    const limit = setTimeout(() => end({ problem: 'it takes too long' }), LIMIT_MS)
    signal.addEventListener('abort', () => end({ problem: 'it is not wanted any more' }))
    worker.onmessage = ({ data }: MessageEvent<Drawn>) =>
      end('svg' in data && data.svg.length > SVG_MAX_CHARS ? { problem: 'it is too large' } : data)
    worker.onerror = () => end({ problem: 'the program that draws failed' })
    worker.postMessage(dot)
  })
}
