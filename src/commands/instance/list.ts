/** `resolve instance list`: what there is, what waits for a person first. */
import { Flags } from '@oclif/core'
import type { InstanceFilter, InstancePage, InstanceRecord } from '../../core/index.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/base-command.ts'
import { toStatuses } from '../../terminal/flags.ts'
import { instanceTable } from '../../terminal/instance-table.ts'

export default class InstanceList extends BaseCommand<typeof InstanceList> {
  static override summary = 'List instances, those that wait for you first'
  static override examples = ['resolve instance list', 'resolve instance list --status failed --resolver tour --json']
  static override flags = {
    status: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      description: 'only these statuses, with commas or again',
    }),
    resolver: Flags.string({ description: 'only instances of this resolver' }),
    limit: Flags.integer({ min: 1, max: 500, default: 30, description: 'how many at most, the newest' }),
    all: Flags.boolean({ description: 'all of them', exclusive: ['limit'] }),
  }

  declare protected flags: FlagsOf<typeof InstanceList>

  protected async act(): Promise<number> {
    const status = toStatuses(this.flags.status)
    const { records, cursor } = await this.pages({
      limit: this.flags.all ? 500 : this.flags.limit,
      ...(status === undefined ? {} : { status }),
      ...(this.flags.resolver === undefined ? {} : { resolver: this.flags.resolver }),
    })
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.instances/1', instances: records, cursor })
      return 0
    }
    if (records.length === 0) {
      this.output.note('No instance matches. Start one with "resolve run hello".')
      return 0
    }
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of instanceTable(records, Date.now(), width)) await this.output.result(line)
    if (cursor !== null) this.output.note('There are more; add --all, or --limit.')
    return 0
  }

  private async pages(filter: InstanceFilter): Promise<{ records: InstanceRecord[]; cursor: string | null }> {
    const platform = await this.platform()
    const records: InstanceRecord[] = []
    let cursor: string | null = null
    do {
      const page: InstancePage = await platform.list({ ...filter, ...(cursor === null ? {} : { cursor }) })
      records.push(...page.records)
      cursor = page.cursor
    } while (this.flags.all && cursor !== null)
    return { records, cursor }
  }
}
