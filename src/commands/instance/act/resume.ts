/** `resolve instance resume`: restarts a paused instance from its checkpoint and follows it as `run` does. */
import * as Flags from '@oclif/core/flags'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { followFlags, requiredIdArg } from '../../../terminal/command/flags.ts'
import { documentOf } from '../../../terminal/follow/finish.ts'
import { planSession, runSession } from '../../../terminal/follow/session.ts'
import { isCi } from '../../../terminal/output/surroundings.ts'

export default class InstanceResume extends BaseCommand<typeof InstanceResume> {
  static override summary = 'Resume a paused instance and follow it'
  static override examples = ['resolve instance resume @last', 'resolve instance resume 3fa2 --detach']
  static override args = requiredIdArg
  static override flags = {
    ...followFlags,
    detach: Flags.boolean({ char: 'd', description: 'host it in the background and return' }),
  }

  declare protected flags: FlagsOf<typeof InstanceResume>
  declare protected args: ArgsOf<typeof InstanceResume>

  protected async act(): Promise<number> {
    const session = await planSession(this.flags, this.mayNotAsk)
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const story = await platform.story(id)
    await platform.resume(id, { host: this.flags.detach ? 'background' : 'here' })
    if (this.flags.detach) return await this.printDetached(id)
    return await runSession({
      ...session,
      platform,
      id,
      output: this.output,
      actor: this.actor,
      live: this.mayDraw,
      watching: false,
      stopOnSignal: isCi(),
      story,
      actFrom: story.lastSeq + 1,
    })
  }

  private async printDetached(id: string): Promise<number> {
    const instance = documentOf(await (await this.platform()).story(id))
    if (this.output.json) await this.output.document(instance)
    else if (this.output.jsonl)
      await this.output.raw(`${JSON.stringify({ type: 'left', reason: 'detached', instance })}\n`)
    else this.output.note(`${id} runs again, ${this.server === undefined ? 'in the background' : 'on the server'}.`)
    return 0
  }
}
