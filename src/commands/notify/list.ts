/** `resolve notify list`: lists the targets of notifications, and what waits to be sent. */
import type { NotifyTarget } from '../../core/index.ts'
import { agoText } from '../../core/view/time-words.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { commandLine } from '../../terminal/output/shell.ts'
import { tableLines } from '../../terminal/output/table.ts'

export default class NotifyList extends BaseCommand<typeof NotifyList> {
  static override summary = 'List the targets of notifications'
  static override description = 'Also tells what could not be sent yet, since when and why, and how many were given up.'
  static override examples = ['resolve notify list', 'resolve notify list --json']

  declare protected flags: FlagsOf<typeof NotifyList>

  protected async act(): Promise<number> {
    const targets = await (await this.platform()).notify.list()
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.notify-targets/1', targets })
      return EXIT.ok
    }
    if (targets.length === 0) {
      this.output.note(`There is no target yet; see "${commandLine('notify', 'add', '--help')}".`)
      return EXIT.ok
    }
    const now = Date.now()
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of tableLines(COLUMNS, targets.map(rowAt(now)), width)) await this.output.result(line)
    return EXIT.ok
  }
}

const COLUMNS = [
  { title: 'NAME', flexible: true },
  { title: 'KIND' },
  { title: 'TO', flexible: true },
  { title: 'ON' },
  { title: 'RESOLVER', flexible: true },
  { title: 'STATE', flexible: true },
]

function rowAt(now: number): (target: NotifyTarget) => string[] {
  return (target) => [
    ...[target.name, target.kind, target.address ?? 'this machine', target.events.join(',')],
    ...[target.resolver ?? 'all', stateOf(target, now)],
  ]
}

function stateOf({ waiting, given_up, failing_since, last_error }: NotifyTarget, now: number): string {
  const parts = [
    ...(failing_since === null && waiting > 0 ? [`${waiting} being sent`] : []),
    ...(failing_since === null ? [] : [`${waiting} waiting since ${agoText(failing_since, now)}: ${last_error}`]),
    ...(given_up === 0 ? [] : [`${given_up} given up`]),
  ]
  return parts.length === 0 ? 'ok' : parts.join('; ')
}
