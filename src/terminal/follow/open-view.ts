/** Chooses the view of a run for the output format and the streams, and connects its keys. */
import { withInkColour } from '../output/colour.ts'
import type { Output } from '../output/output.ts'
import { isGithub } from '../output/surroundings.ts'
import { githubView } from '../view/github-view.ts'
import type { Slot } from '../view/slot.ts'
import type { Controls } from '../view/view.ts'
import { jsonlView, plainView, silentView, type View } from '../view/view.ts'

export interface OpenedView {
  view: View
  steer: (controls: Controls) => void
  /** Where forms are drawn, below the live frame; undefined without a live view. */
  slot?: Slot
}

export async function openView(output: Output, options: { live: boolean; watching: boolean }): Promise<OpenedView> {
  const deaf = () => undefined
  if (output.jsonl) return { view: jsonlView(output), steer: deaf }
  if (output.json) return { view: silentView(output), steer: deaf }
  if (!options.live) return { view: isGithub() ? githubView(output) : plainView(output), steer: deaf }
  const coloured = output.colorOn(process.stderr)
  const { openLiveView } = await withInkColour(coloured, () => import('../live/open-live-view.tsx'))
  const view = openLiveView({ watching: options.watching, coloured })
  return { view, steer: (controls) => view.steer(controls), slot: view.slot }
}
