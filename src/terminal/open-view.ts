/** Picks the view of a run by what is on the other side of the streams, and says how keys reach the run. */
import type { Controls } from './follow.ts'
import type { Output } from './output.ts'
import { jsonlView, plainView, silentView, type View } from './view.ts'

export interface OpenedView {
  view: View
  steer: (controls: Controls) => void
}

export async function openView(output: Output, options: { live: boolean; watching: boolean }): Promise<OpenedView> {
  const deaf = () => undefined
  if (output.jsonl) return { view: jsonlView(output), steer: deaf }
  if (output.json) return { view: silentView(), steer: deaf }
  if (!options.live) return { view: plainView(output), steer: deaf }
  // Ink asks the environment for colour, and only at its import; stdout may be a pipe while stderr is the terminal.
  const before = process.env['FORCE_COLOR']
  process.env['FORCE_COLOR'] = output.colorOn(process.stderr) ? '1' : '0'
  const { openLiveView } = await import('./live/open-live-view.tsx')
  if (before === undefined) delete process.env['FORCE_COLOR']
  else process.env['FORCE_COLOR'] = before
  const view = openLiveView({ watching: options.watching })
  return { view, steer: (controls) => view.steer(controls) }
}
