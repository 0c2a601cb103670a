/** The Web Worker in which Graphviz draws; draw.ts ends it where it takes too long. */
import { instance } from '@viz-js/viz'

export type Drawn = { svg: string } | { problem: string }

self.onmessage = async ({ data }: MessageEvent<string>) => {
  self.postMessage(await drawn(data))
}

async function drawn(dot: string): Promise<Drawn> {
  try {
    const viz = await instance()
    const result = viz.render(dot, {
      format: 'svg',
      graphAttributes: { bgcolor: 'transparent' },
      // The font whose metrics are closest to that of the page.
      nodeAttributes: { fontname: 'Arial' },
      edgeAttributes: { fontname: 'Arial' },
    })
    if (result.status === 'success') return { svg: result.output }
    return { problem: result.errors.map(({ message }) => message).join('; ') }
  } catch (error) {
    return { problem: String(error) }
  }
}
