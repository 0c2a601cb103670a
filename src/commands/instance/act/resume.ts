/** `resolve instance resume`: restarts a paused instance from its checkpoint and follows it as `run` does. */
import * as Flags from '@oclif/core/flags'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { followFlags, idArg } from '../../../terminal/command/flags.ts'
import { documentOf } from '../../../terminal/follow/finish.ts'
import { resumeLostInstances } from '../../../terminal/follow/resume-lost.ts'
import { planSession, runSession } from '../../../terminal/follow/session.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { EXIT } from '../../../terminal/output/exit-codes.ts'
import { isCi } from '../../../terminal/output/surroundings.ts'

export default class InstanceResume extends BaseCommand<typeof InstanceResume> {
  static override summary = 'Resume a paused instance and follow it'
  static override description = `--lost resumes every instance whose worker was lost: killed, or the machine restarted.
They run in the background, and each is resumed three times at most.
"resolve serve --resume-lost" does so while it runs.`
  static override examples = [
    'resolve instance resume @last',
    'resolve instance resume 3fa2 --detach',
    'resolve instance resume --lost',
  ]
  static override args = idArg
  static override flags = {
    ...followFlags,
    detach: Flags.boolean({ char: 'd', description: 'host it in the background and return' }),
    lost: Flags.boolean({ description: 'resume all instances whose worker was lost, in the background' }),
  }

  declare protected flags: FlagsOf<typeof InstanceResume>
  declare protected args: ArgsOf<typeof InstanceResume>

  protected async act(): Promise<number> {
    if (this.flags.lost) return await this.resumeLost()
    if (this.args.id === undefined) throw usage('Name the instance to resume, or add --lost.')
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

  private async resumeLost(): Promise<number> {
    if (this.args.id !== undefined) throw usage('--lost resumes all instances without a worker: it takes no id.')
    const platform = await this.platform()
    const { resumed, left } = await resumeLostInstances(platform, (id, waitMs) =>
      this.output.note(`${id} lost its worker again: it is resumed in ${Math.ceil(waitMs / 1000)} s.`),
    )
    for (const { id, error } of left) this.output.say(`${id} is not resumed: ${error.message}`)
    if (this.output.json || this.output.jsonl) {
      const not_resumed = left.map(({ id, error }) => ({ instance_id: id, code: error.code, message: error.message }))
      await this.output.document({ schema: 'resolve.resumed/1', resumed, not_resumed })
    } else {
      for (const id of resumed) await this.output.result(id)
      if (resumed.length === 0 && left.length === 0) this.output.note('No instance has lost its worker.')
    }
    return left.length === 0 ? EXIT.ok : EXIT.wrongState
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
