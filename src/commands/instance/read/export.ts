/** `resolve instance export`: writes everything about an instance into one archive, to keep or to share. */
import { lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { cleanLine } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg } from '../../../terminal/command/flags.ts'
import { saveTo } from '../../../terminal/input/save-data.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { commandLine } from '../../../terminal/output/shell.ts'

export default class InstanceExport extends BaseCommand<typeof InstanceExport> {
  static override summary = 'Write everything about an instance into one archive'
  static override description =
    `Contains record, journal, events, state, questions, answers, messages, data and the end of stderr.
    Only you can read the file, because it contains inputs and answers.
    It contains no secrets of the platform. The instance may be running.`
  static override examples = ['resolve instance export @last', 'resolve instance export 3fa2 -o reports/ --force']
  static override args = idArg
  static override flags = {
    output: Flags.string({
      char: 'o',
      helpValue: 'FILE|DIR',
      description: 'where to write it (default: resolve-ID.tar.gz in the current directory)',
    }),
    force: Flags.boolean({ description: 'replace an existing file' }),
  }

  declare protected flags: FlagsOf<typeof InstanceExport>
  declare protected args: ArgsOf<typeof InstanceExport>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const path = placeFor(this.flags.output, `resolve-${id}.tar.gz`)
    if (!this.flags.force && lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
      const next = [commandLine('instance', 'export', id, '-o', path, '--force')]
      throw usage(`${path} exists already; add --force to replace it.`, { next })
    }
    await saveTo(path, await platform.export(id), 0o600)
    const { size: bytes } = statSync(path)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.export/1', instance_id: id, path, bytes })
      return 0
    }
    await this.output.result(cleanLine(path))
    this.output.note(`${bytes} bytes.`)
    return 0
  }
}

function placeFor(given: string | undefined, name: string): string {
  if (given === undefined) return name
  const isDirectory = given.endsWith('/') || statSync(given, { throwIfNoEntry: false })?.isDirectory() === true
  return isDirectory ? join(given, name) : given
}
