/** `resolve instance list`: lists instances; those that wait for an answer come first. */
import * as Flags from '@oclif/core/flags'
import type { Connection, InstanceFilter, InstancePage, InstanceRecord, Platform } from '../../../core/index.ts'
import { nearest } from '../../../core/primitives/nearest.ts'
import { cleanLine } from '../../../core/view/clean.ts'
import { BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { parseTime } from '../../../terminal/command/duration.ts'
import { toStatuses } from '../../../terminal/command/flags.ts'
import { checkLabelFilter } from '../../../terminal/command/labels.ts'
import { pollUntilSignal } from '../../../terminal/command/poll-until-signal.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { lostText } from '../../../terminal/output/connection.ts'
import { openRepaint } from '../../../terminal/output/repaint.ts'
import { commandLine } from '../../../terminal/output/shell.ts'
import { isCi } from '../../../terminal/output/surroundings.ts'
import { changeLine, fitting, instanceTable, standingOf } from '../../../terminal/pages/instance-table.ts'

/** How many are listed by default. */
const LIMIT = 30

/** The most records that one request returns. */
const WAITING_MAX = 500

export default class InstanceList extends BaseCommand<typeof InstanceList> {
  static override summary = 'List instances, those that wait for you first'
  static override examples = [
    'resolve instance list',
    'resolve instance list --status failed --resolver tour --json',
    'resolve instance list --label team=red --since 7d',
    'resolve instance list --watch',
  ]
  static override flags = {
    status: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      description: 'only these statuses: separated by commas, or the flag repeated',
    }),
    resolver: Flags.string({ description: 'only instances of this resolver' }),
    name: Flags.string({ description: 'only instances with this name' }),
    label: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'key=value|key',
      description: 'only instances with this label; repeat it for each',
    }),
    since: Flags.string({
      helpValue: 'DUR|TIME',
      description: 'only instances created in the last 2h, 7d, or since this time: 2026-01-31T10:00:00Z',
    }),
    until: Flags.string({ helpValue: 'DUR|TIME', description: 'only instances created before that' }),
    text: Flags.string({
      helpValue: 'WORDS',
      description: 'only instances with these words in the name, a label, the resolver or the input',
    }),
    limit: Flags.integer({
      min: 1,
      max: 500,
      description: `the maximum number, newest first; default ${LIMIT}, on a terminal as many of them as fit. Older ones with an open question are added`,
    }),
    all: Flags.boolean({ description: 'all instances', exclusive: ['limit'] }),
    watch: Flags.boolean({ description: 'keep running: redraw on a terminal, else print a line for each change' }),
  }

  declare protected flags: FlagsOf<typeof InstanceList>

  protected async act(): Promise<number> {
    const status = toStatuses(this.flags.status)
    const { resolver, name, since, until, text } = this.flags
    const labels = checkLabelFilter(this.flags.label)
    const now = Date.now()
    const filter: InstanceFilter = {
      limit: this.flags.all ? 500 : (this.flags.limit ?? LIMIT),
      ...(status === undefined ? {} : { status }),
      ...(resolver === undefined ? {} : { resolver }),
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
      ...(since === undefined ? {} : { since: parseTime(since, now) }),
      ...(until === undefined ? {} : { until: parseTime(until, now) }),
      ...(text === undefined ? {} : { text }),
    }
    if (this.flags.watch) {
      if (this.output.json)
        throw usage(
          `--watch cannot print a single document; "${commandLine('instance', 'events', '-f', '--jsonl')}" follows one instance.`,
        )
      return process.stdout.isTTY && process.env['TERM'] !== 'dumb' && !isCi()
        ? await this.repaint(filter)
        : await this.printChanges(filter)
    }
    const { records, cursor } = await this.pages(filter)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.instances/1', instances: records, cursor })
      return 0
    }
    if (records.length === 0) {
      this.output.note(await this.noMatch())
      return 0
    }
    const { isTTY, columns, rows } = process.stdout
    const isGiven = this.flags.all || this.flags.limit !== undefined
    const shown = isTTY && !isGiven ? fitting(records, rows || Number.POSITIVE_INFINITY) : records
    for (const line of instanceTable(shown, Date.now(), isTTY ? columns : undefined)) await this.output.result(line)
    const more = records.length - shown.length
    if (cursor !== null) this.output.note('There are more instances; add --all, or --limit.')
    else if (more > 0) this.output.note(`${more} more ${more === 1 ? 'instance' : 'instances'}; add --all, or --limit.`)
    return 0
  }

  /** What was probably meant by a name, a resolver or a label that no instance has. */
  private async noMatch(): Promise<string> {
    const { resolver, name, label = [] } = this.flags
    const platform = await this.platform()
    const { records } = await platform.list({ limit: WAITING_MAX })
    const unknown = resolver === undefined ? undefined : await unknownResolver(platform, resolver, records)
    if (unknown !== undefined) return unknown
    if (records.length === 0) return `No instance matches. Start one with "${commandLine('run', 'hello')}".`
    const labels = records.flatMap((record) => Object.entries(record.labels ?? {}))
    const known: [string | undefined, string[]][] = [
      [name, records.flatMap((record) => record.name ?? [])],
      ...label.map((one): [string, string[]] => [
        one,
        labels.map(([key, value]) => (one.includes('=') ? `${key}=${value}` : key)),
      ]),
    ]
    for (const [given, names] of known) {
      const meant = given === undefined || names.includes(given) ? undefined : nearest(given, names)
      if (meant !== undefined) return `No instance matches. Did you mean "${cleanLine(meant)}"?`
    }
    return `No instance matches. See "${commandLine('instance', 'list')}".`
  }

  private async repaint(filter: InstanceFilter): Promise<number> {
    const page = openRepaint(() => ({ columns: process.stdout.columns, rows: process.stdout.rows }))
    let records: InstanceRecord[] = []
    const paint = async (lost?: Connection) => {
      const { columns } = process.stdout
      const now = Date.now()
      const above = lost?.state === 'lost' ? [lostText(lost, now, columns)] : []
      await this.output.raw(page.show([...above, ...instanceTable(records, now, columns)]))
    }
    const poll = async () => {
      records = (await this.pages(filter)).records
      await paint()
    }
    // Drawn as part of the table: a line on stderr would break the redrawing.
    return await pollUntilSignal(poll, { onConnection: (changed) => void paint(changed), again: this.again() })
  }

  /** Prints each instance once, then again whenever its status, phase or number of open requests changes. */
  private async printChanges(filter: InstanceFilter): Promise<number> {
    const printed = new Map<string, string>()
    const poll = async () => {
      const { records } = await this.pages(filter)
      const gone = [...printed.keys()].filter((id) => !records.some((record) => record.instance_id === id))
      for (const id of gone) printed.delete(id)
      for (const record of records.toReversed()) {
        const standing = standingOf(record)
        if (printed.get(record.instance_id) === standing) continue
        printed.set(record.instance_id, standing)
        await this.output.result(changeLine(record))
      }
    }
    return await pollUntilSignal(poll, { onConnection: this.connection.update, again: this.again() })
  }

  /** The command line that repeats this command. */
  private again(): string {
    const { status = [], label = [], resolver, name, since, until, text } = this.flags
    const only = [
      ...status.flatMap((one) => ['--status', one]),
      ...label.flatMap((one) => ['--label', one]),
      ...Object.entries({ resolver, name, since, until, text }).flatMap(([flag, value]) =>
        value === undefined ? [] : [`--${flag}`, value],
      ),
    ]
    return commandLine('instance', 'list', '--watch', ...only)
  }

  /** The newest that match, and after them every older one with an open question: the limit must not hide it. */
  private async pages(filter: InstanceFilter): Promise<{ records: InstanceRecord[]; cursor: string | null }> {
    const platform = await this.platform()
    const records: InstanceRecord[] = []
    let cursor: string | null = null
    do {
      const page: InstancePage = await platform.list({ ...filter, ...(cursor === null ? {} : { cursor }) })
      records.push(...page.records)
      cursor = page.cursor
    } while (this.flags.all && cursor !== null)
    if (cursor !== null && filter.status?.includes('awaiting_input') !== false) {
      const older: InstanceFilter = { ...filter, status: ['awaiting_input'], limit: WAITING_MAX }
      // With --status, what is asked for is exact; here a list of thousands would be read for a few.
      const waiting = await platform.list({ ...older, trustsEnds: filter.status === undefined })
      const listed = new Set(records.map((record) => record.instance_id))
      records.push(...waiting.records.filter((record) => !listed.has(record.instance_id)))
    }
    return { records, cursor }
  }
}

/** Undefined for a resolver of the catalog, and for one that was removed since it had instances. */
async function unknownResolver(
  platform: Platform,
  name: string,
  records: readonly InstanceRecord[],
): Promise<string | undefined> {
  const names = new Set(records.map((record) => record.resolver))
  // A token that may not read the catalog gets its list all the same.
  for (const entry of await platform.resolvers().catch(() => [])) names.add(entry.name)
  if (names.size === 0 || names.has(name)) return undefined
  const meant = nearest(name, names)
  const hint = meant === undefined ? `See "${commandLine('resolver', 'list')}".` : `Did you mean "${cleanLine(meant)}"?`
  return `No instance matches: no resolver is named "${cleanLine(name)}". ${hint}`
}
