/** The end of `run` and `retry` with `--detach`: the id, or the document of the new instance. */
import type { Platform } from '../../core/index.ts'
import { usage } from '../output/command-error.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'
import { documentOf } from './finish.ts'

/** These flags act while the run is followed; with --detach the command returns before that. */
export function refuseWithDetach(flags: {
  detach: boolean
  answers?: string | undefined
  timeout?: string | undefined
  'on-input'?: string | undefined
  record?: string | undefined
}): void {
  if (!flags.detach) return
  for (const flag of ['answers', 'timeout', 'on-input', 'record'] as const) {
    if (flags[flag] === undefined) continue
    throw usage(`--${flag} cannot be used with --detach: it needs a command that follows the run.`)
  }
}

export async function printDetached(
  output: Output,
  platform: Platform,
  { id, isRemote }: { id: string; isRemote: boolean },
): Promise<void> {
  if (output.forPerson) {
    await output.result(id)
    const where = isRemote ? 'on the server' : 'in the background'
    output.note(`Running ${where}. ${output.paint('cyan', commandLine('instance', 'watch', id))}`)
    return
  }
  const instance = documentOf(await platform.story(id))
  if (output.json) await output.document(instance)
  else await output.raw(`${JSON.stringify({ type: 'left', reason: 'detached', instance })}\n`)
}
