/** `resolve instance data`: lists or downloads the data files of an instance. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { DataFile, Platform } from '../../../core/index.ts'
import { cleanLine } from '../../../core/view/clean.ts'
import { ageText } from '../../../core/view/time-words.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { saveInside, saveTo } from '../../../terminal/input/save-data.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { tableLines } from '../../../terminal/output/table.ts'

export default class InstanceData extends BaseCommand<typeof InstanceData> {
  static override summary = 'List or download the data files of an instance'
  static override examples = [
    'resolve instance data @last',
    'resolve instance data 3fa2 report.md > report.md',
    'resolve instance data 3fa2 --all -o out',
  ]
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }),
    path: Args.string({ description: 'the path of one file' }),
  }
  static override flags = {
    output: Flags.string({
      char: 'o',
      helpValue: 'PATH',
      description: 'write to this file, or with --all into this directory',
    }),
    all: Flags.boolean({ description: 'download every file; needs -o DIR', dependsOn: ['output'] }),
  }

  declare protected flags: FlagsOf<typeof InstanceData>
  declare protected args: ArgsOf<typeof InstanceData>

  protected async act(): Promise<number> {
    if (this.flags.all && this.args.path !== undefined) throw usage('Give a path or --all, not both.')
    if (this.flags.output !== undefined && !this.flags.all && this.args.path === undefined) {
      throw usage('-o needs the path of a data file, or --all.')
    }
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    if (this.flags.all) return await this.fetchAll(platform, id, this.flags.output ?? '.')
    if (this.args.path !== undefined) return await this.fetchOne(platform, id, this.args.path)
    return await this.printFiles(id, await platform.dataFiles(id))
  }

  private async fetchOne(platform: Platform, id: string, path: string): Promise<number> {
    const { bytes, stream } = await platform.data(id, path)
    if (this.flags.output === undefined) {
      if (this.output.json) throw usage('--json cannot print a file; use -o FILE to save it.')
      for await (const chunk of stream) await this.output.raw(chunk)
      return 0
    }
    await saveTo(this.flags.output, stream)
    await this.printSaved(id, [{ path, bytes, saved_as: this.flags.output }])
    return 0
  }

  private async fetchAll(platform: Platform, id: string, directory: string): Promise<number> {
    const saved: Saved[] = []
    for (const { path } of await platform.dataFiles(id)) {
      const { bytes, stream } = await platform.data(id, path)
      saved.push({ path, bytes, saved_as: await saveInside(directory, path, stream) })
    }
    await this.printSaved(id, saved)
    return 0
  }

  private async printSaved(id: string, saved: Saved[]): Promise<void> {
    if (this.output.json) await this.output.document({ schema: 'resolve.saved/1', instance_id: id, saved })
    for (const { bytes, saved_as } of this.output.json ? [] : saved)
      this.output.note(`${cleanLine(saved_as)}  ${bytes} bytes`)
  }

  private async printFiles(id: string, files: DataFile[]): Promise<number> {
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.data/1', instance_id: id, files })
      return 0
    }
    if (files.length === 0) {
      this.output.note('No data files.')
      return 0
    }
    const rows = files.map((file) => [cleanLine(file.path), String(file.bytes), ageText(file.modified_at, Date.now())])
    const columns = [{ title: 'PATH', flexible: true }, { title: 'BYTES' }, { title: 'AGE' }]
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of tableLines(columns, rows, width)) await this.output.result(line)
    return 0
  }
}

interface Saved {
  path: string
  bytes: number
  saved_as: string
}
