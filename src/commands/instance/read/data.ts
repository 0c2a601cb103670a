/** `resolve instance data`: lists or downloads the data files of an instance. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { ResolveError } from '../../../core/errors.ts'
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
    'resolve instance data 3fa2 --archive | tar -x -C out',
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
    archive: Flags.boolean({
      description: 'write a tar archive of every file, to -o FILE or to stdout',
      exclusive: ['all'],
    }),
    all: Flags.boolean({ description: 'download every file; needs -o DIR', dependsOn: ['output'] }),
  }

  declare protected flags: FlagsOf<typeof InstanceData>
  declare protected args: ArgsOf<typeof InstanceData>

  protected async act(): Promise<number> {
    if (this.flags.all && this.args.path !== undefined) throw usage('Give a path or --all, not both.')
    const isWhole = this.flags.all || this.flags.archive
    if (this.flags.archive && this.args.path !== undefined) throw usage('Give a path or --archive, not both.')
    if (this.flags.output !== undefined && !isWhole && this.args.path === undefined) {
      throw usage('-o needs the path of a data file, --all or --archive.')
    }
    if (this.flags.archive && this.flags.output === undefined) {
      if (this.output.json) throw usage('--json cannot print an archive; use -o FILE to save it.')
      if (process.stdout.isTTY)
        throw usage('--archive writes bytes: use -o FILE, or send them to a program with a pipe.')
    }
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    if (this.flags.archive) return await this.writeArchive(platform, id)
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

  /** A file that is removed after it was listed is left out. */
  private async writeArchive(platform: Platform, id: string): Promise<number> {
    const { tar } = await import('../../../core/index.ts')
    const paths: string[] = []
    async function* entries() {
      for (const { path } of await platform.dataFiles(id)) {
        const file = await platform.data(id, path).catch((error: unknown) => {
          if (error instanceof ResolveError && error.code === 'file_unknown') return undefined
          throw error
        })
        if (file === undefined) continue
        paths.push(path)
        yield { path, bytes: file.bytes, modifiedMs: Date.parse(file.modified_at), content: file.stream }
      }
    }
    const archive = tar(entries())
    const target = this.flags.output
    if (target === undefined) {
      for await (const chunk of archive) await this.output.raw(chunk)
      return 0
    }
    let bytes = 0
    async function* counted() {
      for await (const chunk of archive) {
        bytes += chunk.length
        yield chunk
      }
    }
    await saveTo(target, counted())
    if (this.output.json) {
      const saved = paths.map((path) => ({ path, saved_as: target }))
      await this.output.document({
        schema: 'resolve.saved/1',
        instance_id: id,
        saved,
        archive: { bytes, saved_as: target },
      })
    } else
      this.output.note(`${cleanLine(target)}  ${paths.length} ${paths.length === 1 ? 'file' : 'files'}, ${bytes} bytes`)
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
