/** `resolve doctor`: checks this machine and the home directory, and prints one line a check with the command that fixes a failure. */
import * as Flags from '@oclif/core/flags'
import type { HealthRow, HealthState } from '../core/index.ts'
import { BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { EXIT } from '../terminal/output/exit-codes.ts'
import { builtinsDirectory } from '../terminal/output/surroundings.ts'
import { doctorDocument, doctorLines } from '../terminal/pages/doctor.ts'

export default class Doctor extends BaseCommand<typeof Doctor> {
  static override summary = 'Check this machine and the home directory'
  static override description = `Prints a command that fixes each failure. The exit code is 1 if any check fails.
--fix repairs file modes, removes leftovers and adopts instances without a host.
It also ends processes and containers whose instance has ended.`
  static override examples = ['resolve doctor', 'resolve doctor --fix', 'resolve doctor --json']
  static override place = 'here' as const
  static override flags = { fix: Flags.boolean({ description: 'repair what can be repaired safely' }) }

  declare protected flags: FlagsOf<typeof Doctor>

  protected async act(): Promise<number> {
    const { checkLocalHealth, homeDirectory } = await import('../core/index.ts')
    // Does not open the platform: a home that cannot be opened is one of the failures to report.
    const home = homeDirectory(process.env)
    const rows: HealthRow[] = await checkLocalHealth({ home, builtins: builtinsDirectory(), fix: this.flags.fix })
    const failed: HealthState = 'failed'
    const exitCode = rows.some(({ state }) => state === failed) ? EXIT.failed : EXIT.ok
    if (this.output.json) await this.output.document(doctorDocument(rows, exitCode))
    else await this.output.raw(`${doctorLines(this.output, rows).join('\n')}\n`)
    return exitCode
  }
}
