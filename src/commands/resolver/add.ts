/** `resolve resolver add`: shows what a source will run, then adds it to the catalog. */
import { resolve as resolvePath } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { fail, ResolveError } from '../../core/errors.ts'
import type { AddPlan, CatalogEntry, PackedDirectory } from '../../core/index.ts'
import { bytesText } from '../../core/view/bytes-text.ts'
import { plainCommand } from '../../core/view/command-line.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { beforeFollowing } from '../../terminal/command/signals.ts'
import { promptYes } from '../../terminal/form/prompt-form.ts'
import { showPreparation } from '../../terminal/input/when-prepared.ts'
import { CommandError, usage } from '../../terminal/output/command-error.ts'
import { commandLine } from '../../terminal/output/shell.ts'
import { planLines } from '../../terminal/pages/plan-lines.ts'
import { resolverDocument } from '../../terminal/pages/resolver-document.ts'

export default class ResolverAdd extends BaseCommand<typeof ResolverAdd> {
  static override summary = 'Add a resolver from a directory or a git address'
  static override description = `Prints what the resolver will run: its commands, setup, mounts and capabilities.
  On a terminal, asks for confirmation before it adds a git source.
  Without a terminal it does not ask: running the command means that you trust the source.
  Starts the program once and asks for its form: a resolver that cannot start is not added.
  To a server (--server, a context) it sends a directory, without .git. This needs a token with scope admin,
  "serve --uploads" at the server, and a container in the manifest.`
  static override examples = [
    'resolve resolver add ./my-resolver',
    'resolve resolver add git+https://example.com/team/plan.git@v2 --dry-run',
    'resolve resolver add ./my-resolver --server https://build.example.com',
    'resolve resolver add "plan @ git+https://example.com/team/plan.git@v2" --yes',
  ]
  static override args = { source: Args.string({ required: true, description: 'a directory or a git address' }) }
  static override flags = {
    'dry-run': Flags.boolean({ description: 'fetch and check the source, and add nothing' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask for confirmation' }),
    'no-check': Flags.boolean({ description: 'do not start its program once before it is added' }),
    prepare: Flags.boolean({
      default: true,
      allowNo: true,
      description: 'run the setup of its container now, so that the first run need not wait',
    }),
    force: Flags.boolean({ description: 'replace a resolver of the same name from another source' }),
  }

  declare protected flags: FlagsOf<typeof ResolverAdd>
  declare protected args: ArgsOf<typeof ResolverAdd>

  protected async act(): Promise<number> {
    return this.server === undefined ? await this.addHere() : await this.addToServer(this.server.url)
  }

  private async addHere(): Promise<number> {
    const catalog = await (await this.localPlatform()).catalog()
    const cwd = process.cwd()
    const plan = await catalog.plan(this.args.source, cwd)
    this.notePlan(plan)
    if (this.flags['dry-run']) return await this.printDryRun(plan)
    // Checked before the confirmation: it makes no sense to confirm what cannot be added.
    if (plan.needs_force && !this.flags.force) {
      throw fail('resolver_exists', { name: plan.name, source: plan.replaces?.source ?? 'elsewhere' })
    }
    if (
      plan.kind === 'git' &&
      this.mayAsk &&
      !this.flags.yes &&
      !(await promptYes('Add it, and trust it to run here?'))
    ) {
      this.output.say('Nothing was added.')
      return 0
    }
    if (!this.flags['no-check']) plan.warnings.push(...(await this.tryStart(catalog.planned(this.args.source, cwd))))
    const entry = await catalog.add(this.args.source, { cwd, force: this.flags.force })
    return await this.printAdded(entry, plan.warnings)
  }

  /** What will run is read from the manifest here, so that the archive is sent only once; the server checks all of it. */
  private async addToServer(url: string): Promise<number> {
    const { source } = this.args
    const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(source) || /\s@\s/.test(source) || /^[\w.-]+@[\w.-]+:/.test(source)
    if (isAddress) throw usage(`Only a directory can be sent to a server: add ${source} on the server's machine.`)
    const { packDirectory, planUpload } = await import('../../core/index.ts')
    const path = resolvePath(source)
    const packed = await packDirectory(path)
    const platform = await this.platform()
    const options = { sha256: packed.digest }
    if (this.flags['dry-run']) {
      const { plan } = await platform.addArchive(packed.archive, { ...options, dryRun: true })
      this.notePlan(plan, packed)
      return await this.printDryRun(plan)
    }
    if (this.output.forPerson) {
      const planned = await planUpload(path, platform)
      this.notePlan(planned, packed)
      if (planned.needs_force && !this.flags.force) {
        const from = planned.replaces?.source || 'a directory of the server'
        throw fail('resolver_exists', { name: planned.name, source: from })
      }
    }
    if (this.mayAsk && !this.flags.yes && !(await promptYes(`Send it to ${url}, to run there?`))) {
      this.output.say('Nothing was added.')
      return 0
    }
    const { plan, entry } = await platform.addArchive(packed.archive, { ...options, force: this.flags.force })
    if (entry === null) throw fail('server_strange', { url, problem: 'it did not say what it added' })
    return await this.printAdded(entry, plan.warnings)
  }

  private notePlan(plan: AddPlan, packed?: PackedDirectory): void {
    if (!this.output.forPerson) return
    for (const line of planLines(this.output, plan)) this.output.note(line)
    if (packed === undefined) return
    const files = `${packed.files} ${packed.files === 1 ? 'file' : 'files'}`
    this.output.note(`  ${'sent'.padEnd(15)}${files}, ${bytesText(packed.bytes)}, without .git`)
  }

  private async printAdded(entry: CatalogEntry, warnings: string[]): Promise<number> {
    const prepared = await this.prepare(entry)
    if (this.output.json) {
      await this.output.document({
        schema: 'resolve.resolver/1',
        resolver: resolverDocument(entry),
        warnings: prepared === undefined ? warnings : [...warnings, prepared],
      })
    } else {
      await this.output.result(`${entry.name} ${entry.version} added.`)
      this.output.note(`  ${this.output.paint('cyan', commandLine('run', entry.name))}`)
    }
    return 0
  }

  /** Throws why the program cannot be used; returns what is only worth a warning. */
  private async tryStart(entry: CatalogEntry | undefined): Promise<string[]> {
    // A resolver in a container starts after its setup, which preparing it runs.
    if (entry === undefined || entry.manifest.container !== undefined) return []
    try {
      await (await this.localPlatform()).tryStart(entry)
      return []
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      if (error.code === 'resolver_refused') {
        const warning = `Asked for its form without any input, it failed: ${String(error.details['detail'] ?? error.message)}`
        this.output.note(this.output.paint('yellow', `  ${warning}`))
        return [warning]
      }
      throw new CommandError(error, {
        next: [
          plainCommand('resolver', 'add', this.args.source, '--no-check', ...(this.flags.force ? ['--force'] : [])),
        ],
      })
    }
  }

  /**
   * Runs the setup of a container (R48). A setup that fails is an error; where there is no engine or image, the first use prepares the
   * resolver: returns that as a warning.
   */
  private async prepare({ name, manifest }: CatalogEntry): Promise<string | undefined> {
    const { setup_commands: commands = [], bundles = [] } = manifest.container ?? {}
    if (!this.flags.prepare || commands.length + bundles.length === 0) return undefined
    const platform = await this.platform()
    try {
      await beforeFollowing(() => showPreparation(platform, name, { output: this.output }))
      return undefined
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      if (error.code === 'setup_failed') {
        this.output.say(`${name} was added, but its setup fails. Fix it, and the next use runs it again.`)
        throw error
      }
      if (!['docker_unreachable', 'image_missing', 'too_many'].includes(error.code)) throw error
      const warning = `${name} is not prepared: ${error.message} Its first use prepares it.`
      this.output.note(this.output.paint('yellow', warning))
      return warning
    }
  }

  private async printDryRun(plan: AddPlan): Promise<number> {
    if (this.output.json) await this.output.document({ schema: 'resolve.add-plan/1', plan })
    else await this.output.result(`${plan.name} ${plan.version} can be added. Nothing was added.`)
    return 0
  }
}
