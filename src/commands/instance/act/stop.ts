/** `resolve instance stop`: asks resolvers to end, and kills their processes if they do not. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { awaitEndStatus } from '../../../terminal/command/report-end-status.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { instanceDocument } from '../../../terminal/output/documents.ts'
import { EXIT, worstExitCode } from '../../../terminal/output/exit-codes.ts'

export default class InstanceStop extends BaseCommand<typeof InstanceStop> {
  static override summary = 'Stop instances'
  static override description = `The resolver gets 30 s to save a checkpoint and end.
Then its worker gets SIGTERM, and SIGKILL 10 s later.
The command counts down while the worker does not end. --force kills it at once.
If the host of an instance does not answer, the stop is kept; --force then ends the host, too.`
  static override examples = [
    'resolve instance stop @last --reason "wrong branch"',
    'resolve instance stop 3fa2 81bc',
    'resolve instance stop 3fa2 --force',
  ]
  static override strict = false
  static override args = { id: Args.string({ description: 'ids, prefixes of ids, or @last', required: true }) }
  static override flags = {
    reason: Flags.string({
      description: 'the reason that the resolver receives and the instance keeps',
      default: 'stopped',
    }),
    force: Flags.boolean({ description: 'kill the worker at once, and a host that does not answer' }),
  }

  declare protected flags: FlagsOf<typeof InstanceStop>
  declare protected args: ArgsOf<typeof InstanceStop>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const ids = [...new Set(await Promise.all(this.words.map((word) => platform.find(word))))]
    if (ids.length === 0) throw usage('Name at least one instance to stop.')
    if (ids.length === 1) this.about = ids[0]
    const { reason, force } = this.flags
    // Each is asked, whatever becomes of the others.
    const asked = await Promise.allSettled(
      ids.map(async (id) => {
        await platform.stop(id, { reason, force })
        const onConnection = this.connection.update
        return await awaitEndStatus(this.output, platform, { id, wanted: 'cancelled', onConnection })
      }),
    )
    const ended = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const failed = asked.find((one) => one.status === 'rejected')
    const code = ended.length === 1 ? (ended[0]?.code ?? EXIT.ok) : worstExitCode(ended.map((one) => one.code))
    if (this.output.json && failed === undefined) {
      const documents = ended.map((one) => instanceDocument(one.story, one.code))
      const several = { schema: 'resolve.stopped/1', exit_code: code, instances: documents }
      await this.output.document(ids.length === 1 ? documents[0] : several)
    }
    if (failed !== undefined) throw failed.reason
    return code
  }
}
