/** `resolve instance answer`: answers an input request of an instance, or lists the open ones. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { fail, type InputRequest, type Platform } from '../../../core/index.ts'
import { cleanLine } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { inputFlags } from '../../../terminal/command/flags.ts'
import { openRequests } from '../../../terminal/follow/open-requests.ts'
import { watchRequest } from '../../../terminal/form/watch-request.ts'
import { fillForm } from '../../../terminal/input/fill-form.ts'
import { pickRequest } from '../../../terminal/input/pickers.ts'
import { CommandError, usage, withSentence } from '../../../terminal/output/command-error.ts'
import { answerCommand } from '../../../terminal/output/next-steps.ts'
import { printReceipt } from '../../../terminal/output/receipt.ts'
import { commandLine } from '../../../terminal/output/shell.ts'

export default class InstanceAnswer extends BaseCommand<typeof InstanceAnswer> {
  static override summary = 'Answer a question of an instance'
  static override description = `Without a request id, answers the only open question.
On a terminal, opens the form if no field is given.
Without a terminal, give the fields with -i or --input-file. Only these are sent.`
  static override examples = [
    'resolve instance answer @last -i approve=yes',
    'resolve instance answer 3fa2 gate-1 --input-file answer.json',
    'resolve instance answer 3fa2 --list',
  ]
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }),
    request: Args.string({ description: 'the id of the question' }),
  }
  static override flags = {
    ...inputFlags,
    list: Flags.boolean({ description: 'list the open questions and the commands that answer them' }),
  }

  declare protected flags: FlagsOf<typeof InstanceAnswer>
  declare protected args: ArgsOf<typeof InstanceAnswer>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id, ['awaiting_input'])
    if (this.flags.list) return await this.printOpenRequests(id, await openRequests(platform, id))
    const request = await this.chooseRequest(platform, id)
    const watch = this.mayAsk ? await watchRequest(platform, id, request.id) : undefined
    await fillForm({
      form: request.schema,
      prompt: request.prompt,
      flags: this.flags,
      mayAsk: this.mayAsk,
      output: this.output,
      submit: (payload) => platform.answer(id, request.id, payload, this.actor),
      submitWord: 'Answer',
      escapeWord: 'leave it open',
      givenUp: `Nothing was sent: "${cleanLine(request.id)}" is still open.`,
      example: (given, wrong) => answerCommand(id, request, given, wrong),
      ...(watch === undefined ? {} : { signal: watch.signal }),
    }).finally(() => watch?.stop())
    await printReceipt(
      this.output,
      { action: 'answer', instance_id: id, request_id: request.id },
      `Answered "${request.id}". ${this.output.paint('cyan', commandLine('instance', 'watch', id))}`,
    )
    return 0
  }

  private async chooseRequest(platform: Platform, id: string): Promise<InputRequest> {
    if (this.args.request !== undefined) {
      const isMeant = (one: InputRequest) => one.id === this.args.request
      const known = (await platform.inputRequests(id)).find(isMeant) ?? (await openRequests(platform, id)).find(isMeant)
      if (known === undefined) throw fail('request_unknown', { request: this.args.request, instance: id })
      // The platform refuses a request that was answered already: its error names who answered.
      return known
    }
    const open = await openRequests(platform, id)
    const [only, other] = open
    if (only === undefined) {
      const { status } = await platform.record(id)
      const error = fail('invalid_state', { action: 'answer', status })
      const message = `Instance ${id} is ${status} and has no open question.`
      throw new CommandError(withSentence(error, 'invalid_state', { message, hint: error.hint }), {
        next: [commandLine('instance', 'show', id)],
      })
    }
    if (other === undefined) return only
    if (this.mayPick) return await pickRequest(this.output, open)
    throw usage(
      `Instance ${id} has ${open.length} open questions: ${open.map((one) => one.id).join(', ')}. Name one.`,
      {
        next: open.map((one) => answerCommand(id, one)),
      },
    )
  }

  private async printOpenRequests(id: string, open: InputRequest[]): Promise<number> {
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.input-requests/1', instance_id: id, input_requests: open })
      return 0
    }
    if (open.length === 0) this.output.note('No question is open.')
    for (const request of open) {
      await this.output.result(`${request.id}  ${cleanLine(request.prompt)}`)
      await this.output.result(`  ${answerCommand(id, request)}`)
    }
    return 0
  }
}
