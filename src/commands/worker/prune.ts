/** `resolve worker prune`: removes images made by container setups, and leftover containers. */
import * as Flags from '@oclif/core/flags'
import { bytesText } from '../../core/view/bytes-text.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'

export default class WorkerPrune extends BaseCommand<typeof WorkerPrune> {
  static override summary = 'Remove images made by container setups'
  static override description = `The next run of a resolver then repeats its setup. Images that a container uses stay.
  Also removes containers of this home whose instance has ended.`
  static override examples = ['resolve worker prune --dry-run', 'resolve worker prune']
  static override place = 'here' as const
  static override flags = {
    'dry-run': Flags.boolean({ description: 'show what would be removed, and remove nothing' }),
  }

  declare protected flags: FlagsOf<typeof WorkerPrune>

  protected async act(): Promise<undefined> {
    const { homeDirectory, pruneWorkers } = await import('../../core/index.ts')
    const outcome = await pruneWorkers(homeDirectory(process.env), this.flags['dry-run'])
    const { images, containers, dry_run: isDry } = outcome
    const bytes = images.reduce((sum, image) => sum + image.bytes, 0)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.pruned-workers/1', ...outcome, bytes })
      return
    }
    if (isDry) {
      for (const image of images) await this.output.result(`${cleanLine(image.image)}  ${bytesText(image.bytes)}`)
      for (const { name, why } of containers) await this.output.result(`${cleanLine(name)}  ${why}`)
    }
    const parts = [images.length === 1 ? '1 image' : `${images.length} images`]
    if (containers.length > 0) parts.push(containers.length === 1 ? '1 container' : `${containers.length} containers`)
    const verb = isDry ? 'Would remove' : 'Removed'
    this.output.note(images.length + containers.length === 0 ? 'Nothing to remove.' : `${verb} ${parts.join(' and ')}.`)
  }
}
