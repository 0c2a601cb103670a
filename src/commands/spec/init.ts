/** `resolve spec init`: writes a complete feature spec to start from. */
import { writeFile } from 'node:fs/promises'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { diskFull, systemCode } from '../../core/errors.ts'
import { EXAMPLE_FEATURE_SPEC } from '../../core/feature-spec/example.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { plainCommand } from '../../core/view/command-line.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { usage } from '../../terminal/output/command-error.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'

export default class SpecInit extends BaseCommand<typeof SpecInit> {
  static override place = 'always here' as const
  static override summary = 'Write an example of a feature spec'
  static override description = `The example has all six sections and no fault. --force replaces a file that is there.
  With - as the file it goes to stdout.`
  static override examples = ['resolve spec init', 'resolve spec init specs/notes.md', 'resolve spec init - | less']
  static override args = {
    file: Args.string({ default: 'feature-spec.md', description: 'the file to write' }),
  }
  static override flags = {
    force: Flags.boolean({ description: 'overwrite the file' }),
  }

  declare protected args: ArgsOf<typeof SpecInit>
  declare protected flags: FlagsOf<typeof SpecInit>

  protected async act(): Promise<number> {
    const { file } = this.args
    if (file === '-') {
      await this.output.raw(EXAMPLE_FEATURE_SPEC)
      return EXIT.ok
    }
    await writeFile(file, EXAMPLE_FEATURE_SPEC, { flag: this.flags.force ? 'w' : 'wx' }).catch((error: unknown) => {
      const code = systemCode(error)
      if (code === 'EEXIST') throw usage(`${file} exists. Name another file, or overwrite it with --force.`)
      throw diskFull(error, file) ?? usage(`Can't write ${file}: ${code ?? 'unknown error'}.`)
    })
    if (!this.output.forPerson) {
      await this.output.document({ schema: 'resolve.spec-init/1', exit_code: EXIT.ok, file })
      return EXIT.ok
    }
    await this.output.raw(`Wrote ${cleanLine(file)}.\n`)
    this.output.note(`Check it with: ${plainCommand('spec', 'check', file)}`)
    return EXIT.ok
  }
}
