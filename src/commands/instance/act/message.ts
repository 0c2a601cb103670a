/** `resolve instance message`: sends a message to a running resolver, or lists the message types it accepts now. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { fail } from '../../../core/errors.ts'
import type { MessageType } from '../../../core/index.ts'
import { cleanLine } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { inputFlags } from '../../../terminal/command/flags.ts'
import { fillForm } from '../../../terminal/input/fill-form.ts'
import { pickMessageType } from '../../../terminal/input/pickers.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { fieldFlags, type GivenFields } from '../../../terminal/output/next-steps.ts'
import { printReceipt } from '../../../terminal/output/receipt.ts'
import { commandLine } from '../../../terminal/output/shell.ts'

export default class InstanceMessage extends BaseCommand<typeof InstanceMessage> {
  static override summary = 'Send a message to a running instance'
  static override description = `The message types that a resolver accepts can change with its phase.
  On a terminal, opens the form if no field is given.`
  static override examples = [
    'resolve instance message @last --list',
    'resolve instance message 3fa2 note -i text="Use the blue one"',
  ]
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }),
    type: Args.string({ description: 'the type of the message' }),
  }
  static override flags = {
    ...inputFlags,
    list: Flags.boolean({ description: 'list the types that the resolver accepts now' }),
  }

  declare protected flags: FlagsOf<typeof InstanceMessage>
  declare protected args: ArgsOf<typeof InstanceMessage>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id, ['running', 'awaiting_input'])
    const types = await platform.messageTypes(id)
    if (this.flags.list) return await this.printTypes(id, types)
    const type = await this.chooseType(id, types)
    let number = 0
    await fillForm({
      form: type.schema,
      prompt: [type.label, type.description].filter((text) => text !== '').join('\n'),
      flags: this.flags,
      mayAsk: this.mayAsk,
      output: this.output,
      submit: async (payload) => {
        number = (await platform.message(id, type.name, payload, this.actor)).number
      },
      submitWord: 'Send',
      escapeWord: 'cancel',
      givenUp: 'Nothing was sent.',
      example: (given, wrong) => this.example(id, type, given, wrong),
    })
    await printReceipt(
      this.output,
      { action: 'message', instance_id: id, message_type: type.name, number },
      `Sent "${type.name}" as message ${number}.`,
    )
    return 0
  }

  private async chooseType(id: string, types: MessageType[]): Promise<MessageType> {
    const known = types.map((type) => type.name)
    if (this.args.type === undefined) {
      const [only, other] = types
      if (only !== undefined && other === undefined) return only
      if (only !== undefined && this.mayPick) return await pickMessageType(this.output, types)
      const what =
        known.length === 0 ? 'The resolver accepts no messages now.' : `Name a message type: ${known.join(', ')}.`
      throw usage(what, { next: [commandLine('instance', 'message', id, '--list')] })
    }
    const type = types.find((one) => one.name === this.args.type)
    if (type === undefined) throw fail('message_type_unknown', { type: this.args.type, known })
    return type
  }

  private async printTypes(id: string, types: MessageType[]): Promise<number> {
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.message-types/1', instance_id: id, message_types: types })
      return 0
    }
    if (types.length === 0) this.output.note('The resolver accepts no messages now.')
    for (const type of types) {
      await this.output.result(`${type.name}  ${cleanLine(type.description || type.label)}`)
      await this.output.result(`  ${this.example(id, type)}`)
    }
    return 0
  }

  private example(id: string, type: MessageType, given?: GivenFields, wrong?: readonly string[]): string {
    return commandLine('instance', 'message', id, type.name, ...fieldFlags(type.schema.components, given, wrong))
  }
}
