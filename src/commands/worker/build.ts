/** `resolve worker build`: builds the default image for workers in containers, or the one for the validator of reality checks. */
import * as Flags from '@oclif/core/flags'
import { cleanLine } from '../../core/view/clean.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'

export default class WorkerBuild extends BaseCommand<typeof WorkerBuild> {
  static override summary = 'Build the default image for workers in containers'
  static override description = `Builds resolve-worker:latest, with Node 24, git and an init process.
  Containers use it if their manifest names no image; RESOLVE_WORKER_IMAGE names another default.
  With --validator it builds resolve-validator:latest: resolve-worker:latest with Chromium, for the browser steps
  of reality checks. RESOLVE_VALIDATOR_IMAGE names another one.`
  static override examples = [
    'resolve worker build',
    'resolve worker build --base registry.example.org/team/node:24',
    'resolve worker build --validator',
  ]
  static override place = 'here' as const
  static override flags = {
    base: Flags.string({ helpValue: 'IMAGE', description: 'the image to build on; it must have Node 24' }),
    validator: Flags.boolean({ description: 'build the image for the browser steps of reality checks' }),
  }

  declare protected flags: FlagsOf<typeof WorkerBuild>

  protected async act(): Promise<undefined> {
    const { buildWorker } = await import('../../core/index.ts')
    const { base, validator } = this.flags
    const kind = validator ? 'validator' : 'worker'
    const onLine = (line: string) => this.output.say(cleanLine(line))
    const { image, id } = await buildWorker({ kind, ...(base === undefined ? {} : { base }), onLine })
    if (this.output.json) await this.output.document({ schema: 'resolve.worker-image/1', image, id })
    else await this.output.result(image)
  }
}
