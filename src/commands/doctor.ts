/** `resolve doctor`: whether this machine and this home are fit, a line a check, and what mends the rest. */
import * as Flags from '@oclif/core/flags'
import type { HealthRow, HealthState } from '../core/index.ts'
import { BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { EXIT } from '../terminal/output/exit-codes.ts'
import { builtinsDirectory } from '../terminal/output/surroundings.ts'
import { doctorDocument, doctorLines } from '../terminal/pages/doctor.ts'

export default class Doctor extends BaseCommand<typeof Doctor> {
  static override summary = 'Check this machine and the home directory'
  static override description = `Each failure comes with the command that mends it; the exit code is then 1.
--fix mends modes, leftovers, instances without host, processes and containers without instance.`
  static override examples = ['resolve doctor', 'resolve doctor --fix', 'resolve doctor --json']
  static override place = 'here' as const
  static override flags = { fix: Flags.boolean({ description: 'mend what is safe to mend' }) }

  declare protected flags: FlagsOf<typeof Doctor>

  protected async act(): Promise<number> {
    const { checkLocalHealth, homeDirectory } = await import('../core/index.ts')
    // Not through the platform: a home that can't be opened is one of the things to tell.
    const home = homeDirectory(process.env)
    const rows: HealthRow[] = await checkLocalHealth({ home, builtins: builtinsDirectory(), fix: this.flags.fix })
    const failed: HealthState = 'failed'
    const exitCode = rows.some(({ state }) => state === failed) ? EXIT.failed : EXIT.ok
    if (this.output.json) await this.output.document(doctorDocument(rows, exitCode))
    else await this.output.raw(`${doctorLines(this.output, rows).join('\n')}\n`)
    return exitCode
  }
}
