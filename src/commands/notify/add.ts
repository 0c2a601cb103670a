/** `resolve notify add`: adds a target of notifications. */
import { randomBytes } from 'node:crypto'
import { text as textOf } from 'node:stream/consumers'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { NOTIFY_EVENTS, type NotifyRequest } from '../../core/index.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { usage } from '../../terminal/output/command-error.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { commandLine } from '../../terminal/output/shell.ts'

export default class NotifyAdd extends BaseCommand<typeof NotifyAdd> {
  static override summary = 'Add a target of notifications'
  static override description = `Tells it when an instance asks a question, ends or fails.
  A webhook gets signed JSON (Standard Webhooks); its signing secret is printed once.
  Each notification is sent at least once: it is tried again for a day, also after a crash, while a host or "resolve serve" runs.
  An address can be secret: give - to read it from stdin.`
  static override examples = [
    'resolve notify add ops --webhook https://ops.example.org/hooks/resolve',
    'resolve notify add team --slack - --on question,failure < slack-address',
    'resolve notify add me --desktop --resolver plan',
  ]
  static override args = { name: Args.string({ required: true, description: 'a name for the target' }) }
  static override flags = {
    webhook: Flags.string({ helpValue: 'URL|-', description: 'send signed JSON to this address' }),
    slack: Flags.string({ helpValue: 'URL|-', description: 'send messages to this Slack-compatible address' }),
    desktop: Flags.boolean({ description: 'show notifications on this machine (notify-send, osascript)' }),
    on: Flags.string({ helpValue: 'EVENTS', default: NOTIFY_EVENTS.join(','), description: 'which ones, with commas' }),
    resolver: Flags.string({ helpValue: 'NAME', description: 'only of instances of this resolver' }),
    link: Flags.string({ helpValue: 'URL', description: 'the address of the page, for links' }),
  }

  declare protected flags: FlagsOf<typeof NotifyAdd>
  declare protected args: ArgsOf<typeof NotifyAdd>

  protected async act(): Promise<number> {
    const { kind, url } = await this.destination()
    const { resolver, link } = this.flags
    const secret = kind === 'webhook' ? `whsec_${randomBytes(32).toString('base64')}` : undefined
    const target = await (await this.platform()).notify.add({
      name: this.args.name,
      kind,
      events: this.events(),
      ...(url === undefined ? {} : { url }),
      ...(secret === undefined ? {} : { secret }),
      ...(resolver === undefined ? {} : { resolver }),
      ...(link === undefined ? {} : { link }),
    })
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.notify-target/1', target, secret: secret ?? null, removed: false })
      return EXIT.ok
    }
    if (secret !== undefined) await this.output.raw(`${secret}\n`)
    const shown = secret === undefined ? '' : ' The signing secret is not shown again.'
    this.output.note(`${target.name} is added.${shown} Try it: ${commandLine('notify', 'test', target.name)}`)
    return EXIT.ok
  }

  private async destination(): Promise<Pick<NotifyRequest, 'kind' | 'url'>> {
    const { webhook, slack, desktop } = this.flags
    const given = [webhook, slack, desktop || undefined].filter((one) => one !== undefined)
    if (given.length !== 1) throw usage('Give one of --webhook, --slack and --desktop.')
    if (desktop) return { kind: 'desktop' }
    const address = webhook ?? slack ?? ''
    const url = address === '-' ? (await textOf(process.stdin)).trim() : address
    return { kind: webhook === undefined ? 'slack' : 'webhook', url }
  }

  private events(): NonNullable<NotifyRequest['events']> {
    const words = this.flags.on.split(',').map((word) => word.trim())
    return words.map((word) => {
      const known = NOTIFY_EVENTS.find((one) => one === word)
      if (known === undefined) throw usage(`--on takes ${NOTIFY_EVENTS.join(', ')}; "${word}" is none of them.`)
      return known
    })
  }
}
