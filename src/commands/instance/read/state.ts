/** `resolve instance state`: prints the resolver's state snapshot, or one part of it. */
import * as Flags from '@oclif/core/flags'
import { fail } from '../../../core/errors.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg } from '../../../terminal/command/flags.ts'

export default class InstanceState extends BaseCommand<typeof InstanceState> {
  static override summary = 'Print the state snapshot of an instance'
  static override examples = ['resolve instance state @last', 'resolve instance state 3fa2 --path /plan/0/title']
  static override args = idArg
  static override flags = {
    path: Flags.string({ helpValue: '/a/b', description: 'only the value at this path' }),
  }

  declare protected flags: FlagsOf<typeof InstanceState>
  declare protected args: ArgsOf<typeof InstanceState>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const state = await platform.state(id)
    const path = this.flags.path ?? '/'
    const found = valueAt(state, path)
    if (found === undefined) throw fail('state_missing', { path })
    if (this.output.json) await this.output.document({ schema: 'resolve.state/1', instance_id: id, path, state: found })
    else await this.output.result(JSON.stringify(found, null, 2))
    return 0
  }
}

/** The value at `/a/0/b`: follows own keys and array indexes only. */
function valueAt(value: unknown, path: string): unknown {
  let here = value
  for (const part of path.split('/').filter((one) => one !== '')) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, part)) return undefined
    here = (here as Record<string, unknown>)[part]
  }
  return here
}
