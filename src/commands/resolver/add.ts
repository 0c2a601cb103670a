/** `resolve resolver add`: shows what a source will run, then adds it to the catalog. */
import { resolve as resolvePath } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { fail, ResolveError } from '../../core/errors.ts'
import type { AddPlan, CatalogEntry, PackedDirectory, PrepareOptions } from '../../core/index.ts'
import { bytesText } from '../../core/view/bytes-text.ts'
import { plainCommand } from '../../core/view/command-line.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { beforeFollowing } from '../../terminal/command/signals.ts'
import { promptYes } from '../../terminal/form/prompt-form.ts'
import { hasSetup, isNotNow, isOfResolver, notUsable, type TriedOut, tryOut } from '../../terminal/input/try-out.ts'
import { showPreparation } from '../../terminal/input/when-prepared.ts'
import { CommandError, usage } from '../../terminal/output/command-error.ts'
import { placedHint } from '../../terminal/output/place-hint.ts'
import { commandLine } from '../../terminal/output/shell.ts'
import { planLines } from '../../terminal/pages/plan-lines.ts'
import { resolverDocument } from '../../terminal/pages/resolver-document.ts'

export default class ResolverAdd extends BaseCommand<typeof ResolverAdd> {
  static override summary = 'Add a resolver from a directory or a git address'
  static override description = `Prints what the resolver will run: its commands, setup, mounts and capabilities.
  On a terminal, asks for confirmation before it adds a git source.
  Without a terminal it does not ask: running the command means that you trust the source.
  Runs the setup of its container, starts the program once and asks for its form:
  a resolver that cannot start is not added.
  To a server (--server, a context) it sends a directory, without .git and npm's development packages. This needs
  a token with scope admin, "serve --uploads" at the server, and a container in the manifest.`
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
    const { warnings, setupFailure } = await this.tryOut(catalog.planned(this.args.source, cwd))
    const entry = await catalog.add(this.args.source, { cwd, force: this.flags.force })
    if (setupFailure !== undefined) {
      this.saySetupFails(entry.name)
      throw setupFailure
    }
    return await this.printAdded(entry, [...plan.warnings, ...warnings])
  }

  /** What will run is read from the manifest here, so that the archive is sent only once; the server checks all of it. */
  private async addToServer(url: string): Promise<number> {
    const { source } = this.args
    const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(source) || /\s@\s/.test(source) || /^[\w.-]+@[\w.-]+:/.test(source)
    if (isAddress) throw usage(`Only a directory can be sent to a server: add ${source} on the server's machine.`)
    const { packDirectory, planUpload } = await import('../../core/index.ts')
    const path = resolvePath(source)
    const platform = await this.platform()
    // Before the directory is read, so that a caller does not mend what this token can't send.
    await platform.requireScope('admin')
    const packed = await packDirectory(path)
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
    return await this.printAdded(entry, [...plan.warnings, ...(await this.prepareThere(entry))])
  }

  private notePlan(plan: AddPlan, packed?: PackedDirectory): void {
    if (!this.output.forPerson) return
    for (const line of planLines(this.output, plan)) this.output.note(line)
    if (packed === undefined) return
    const files = `${packed.files} ${packed.files === 1 ? 'file' : 'files'}`
    const { developmentPackages: left } = packed
    const without = left === 0 ? '' : ` and ${left} development ${left === 1 ? 'package' : 'packages'}`
    this.output.note(`  ${'sent'.padEnd(15)}${files}, ${bytesText(packed.bytes)}, without .git${without}`)
  }

  private async printAdded(entry: CatalogEntry, warnings: string[]): Promise<number> {
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.resolver/1', resolver: resolverDocument(entry), warnings })
    } else {
      await this.output.result(`${entry.name} ${entry.version} added.`)
      this.output.note(`  ${this.output.paint('cyan', commandLine('run', entry.name))}`)
    }
    return 0
  }

  /** Throws why the resolver cannot be used: then it is not added. */
  private async tryOut(entry: CatalogEntry | undefined): Promise<TriedOut> {
    if (entry === undefined) return { warnings: [] }
    const platform = await this.localPlatform()
    const wish = { output: this.output, prepare: this.flags.prepare, start: !this.flags['no-check'] }
    try {
      return await beforeFollowing(() => tryOut(platform, entry, wish))
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      const next = [
        '--no-check',
        ...(hasSetup(entry) ? ['--no-prepare'] : []),
        ...(this.flags.force ? ['--force'] : []),
      ]
      throw new CommandError(error, { next: [plainCommand('resolver', 'add', this.args.source, ...next)] })
    }
  }

  /** Waits for its setup, and asks it for its form. Where the server has no engine or image, returns that as a warning. */
  private async prepareThere(entry: CatalogEntry): Promise<string[]> {
    if (!this.flags.prepare || (this.flags['no-check'] && !hasSetup(entry))) return []
    const platform = await this.platform()
    try {
      const prepare = (options: PrepareOptions) => platform.prepare(entry.name, options)
      await beforeFollowing(() => showPreparation(prepare, entry.name, { output: this.output }))
      return []
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      if (error.code === 'setup_failed') this.saySetupFails(entry.name)
      const { serverPlace: place } = this
      const hint = place && error.hint && placedHint(error.code, error.hint, place)
      if (isNotNow(error)) return [notUsable(this.output, entry, error, hint)]
      // It is added: what it answers is its author's to mend, and a run shows more.
      if (!isOfResolver(error)) throw error
      const warning = `Asked for its form, it failed: ${error.message}`
      this.output.note(this.output.paint('yellow', warning))
      return [warning]
    }
  }

  private saySetupFails(name: string): void {
    this.output.say(`${name} was added, but its setup fails. Fix it, and the next use runs it again.`)
  }

  private async printDryRun(plan: AddPlan): Promise<number> {
    if (this.output.json) await this.output.document({ schema: 'resolve.add-plan/1', plan })
    else await this.output.result(`${plan.name} ${plan.version} can be added. Nothing was added.`)
    return 0
  }
}
