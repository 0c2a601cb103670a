/** `resolve check run`: a reality check of software, followed to its verdict. CI calls it: the exit code is the verdict. */
import { appendFileSync, realpathSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import * as Flags from '@oclif/core/flags'
import { isObject } from '../../core/primitives/is-object.ts'
import type { CheckResult } from '../../core/protocol/check/reality-check.ts'
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import { htmlOf } from '../../core/reality-check/report/html.ts'
import { junitOf } from '../../core/reality-check/report/junit.ts'
import { markdownOf } from '../../core/reality-check/report/markdown.ts'
import { textOf } from '../../core/reality-check/report/text.ts'
import { exitCodeOfCheck } from '../../core/reality-check/verdict/verdict.ts'
import { softwareAt, uncommittedIn } from '../../terminal/check/own-repository.ts'
import { readCriteria } from '../../terminal/check/read-criteria.ts'
import type { FlagsOf } from '../../terminal/command/base-command.ts'
import { parseDuration } from '../../terminal/command/duration.ts'
import { parseLabels } from '../../terminal/command/labels.ts'
import { BeginCommand, type Begun, type BegunFlags, beginFlags } from '../../terminal/follow/begin-command.ts'
import { usage } from '../../terminal/output/command-error.ts'
import { EXIT, type ExitCode } from '../../terminal/output/exit-codes.ts'

const REPORT = 'report.json'

/** The flags of `run`, without those of a form, of questions and of models: a check has none of them. */
const { detach, executor, name, label, jsonl, timeout, verbose } = beginFlags
const followed = { detach, executor, name, label, jsonl, timeout, verbose }

export default class CheckRun extends BeginCommand<typeof CheckRun> {
  static override summary = 'Check software in a clean room'
  static override description =
    `Clones, builds and starts software in containers without a network, and tests it from outside.
  The criteria are JSON, YAML, or a feature spec. Of a directory of this machine, what is committed is checked.
  The exit code is the verdict: 0 pass, 11 partial, 1 fail; 2 and 10 where there is no verdict.`
  static override examples = [
    'resolve check run --software . --criteria criteria.yaml',
    'resolve check run --software https://github.com/org/app@v2 --criteria criteria.json --junit junit.xml',
    'resolve check run --criteria spec.md --start "node server.js" --port 3000 --json',
  ]
  static override flags = {
    ...followed,
    software: Flags.string({
      default: '.',
      helpValue: 'ADDRESS',
      description: 'a repository: an address, @ref for a branch, or a directory',
    }),
    criteria: Flags.string({
      required: true,
      helpValue: 'F',
      description: 'the acceptance criteria: a file, or - for stdin',
    }),
    language: Flags.string({ description: 'node, python, go, rust, java or static; found out by default' }),
    start: Flags.string({ helpValue: 'CMD', description: 'the command that starts it; found out by default' }),
    build: Flags.string({ helpValue: 'CMD', description: 'the command that builds it' }),
    port: Flags.integer({
      min: 1,
      max: 65_535,
      description: 'the port it listens on; by default the one that answers',
    }),
    image: Flags.string({ description: 'the image it is built from; an operator must allow it' }),
    environment: Flags.string({
      helpValue: 'JSON',
      description: 'more of the environment, such as {"start_seconds": 120}',
    }),
    'check-timeout': Flags.string({ helpValue: 'TIME', description: 'the limit of the whole check; 20m by default' }),
    junit: Flags.string({ helpValue: 'F', description: 'write the results as JUnit XML to F' }),
    html: Flags.string({ helpValue: 'F', description: 'write the report as a page to F' }),
    'allow-partial': Flags.boolean({ description: 'exit code 0 for the verdict partial too' }),
  }

  declare protected flags: FlagsOf<typeof CheckRun> & BegunFlags

  protected async begin(_: Begun): Promise<InstanceRecord> {
    const { flags } = this
    const criteria = await readCriteria(flags.criteria)
    const { address, path } = softwareAt(flags.software)
    if (path !== null) await this.allow(path)
    const { language, start, build, port, image } = flags
    const given = flags.environment === undefined ? {} : environmentIn(flags.environment)
    const environment = JSON.stringify({ ...given, language, start, build, port, image })
    const limitMs = flags['check-timeout'] === undefined ? undefined : parseDuration(flags['check-timeout'])
    const input = {
      software: address,
      criteria: typeof criteria === 'string' ? criteria : JSON.stringify(criteria),
      ...(environment === '{}' ? {} : { environment }),
      ...(limitMs === undefined ? {} : { timeout_seconds: String(limitMs / 1_000) }),
    }
    const platform = await this.platform()
    // The resolver is the platform's own program, which needs no container; what it checks is in rooms in any case.
    const executor = this.executor === 'auto' ? 'local' : this.executor
    const name = flags.name ?? null
    return await platform.create({
      resolver: 'reality-check',
      input,
      name,
      labels: parseLabels(flags.label),
      executor,
      host: this.host,
    })
  }

  /** The person who runs the command may read the directory: so may the host that it starts. */
  private async allow(path: string): Promise<void> {
    const changed = await uncommittedIn(path)
    if (changed > 0) this.output.note(`${changed} changed or new files are not committed, so they are not checked.`)
    const { RESOLVE_GIT_LOCAL: before } = process.env
    // Of a listed directory only what is below it may be cloned, not the directory itself.
    const above = dirname(realpathSync(path))
    process.env['RESOLVE_GIT_LOCAL'] = before ? `${before},${above}` : above
  }

  protected override async more(id: string): Promise<Record<string, unknown>> {
    const result = await this.result(id)
    return result === undefined ? {} : { check: result }
  }

  protected override async codeOf(id: string, code: ExitCode): Promise<ExitCode> {
    const result = await this.result(id)
    if (result === undefined) return code
    const { junit, html } = this.flags
    this.summarize(result)
    if (junit !== undefined) await writeFile(junit, junitOf(result, { name: result.software }))
    if (html !== undefined)
      await writeFile(
        html,
        htmlOf(result, () => undefined),
      )
    if (this.output.forPerson) for (const line of textOf(result)) this.output.say(line)
    const verdict = exitCodeOfCheck({ verdict: result.verdict, mode: result.failure_mode }) as ExitCode
    return verdict === EXIT.partly && this.flags['allow-partial'] ? EXIT.ok : verdict
  }

  /** The job's page in GitHub Actions shows it. */
  private summarize(result: CheckResult): void {
    const { GITHUB_STEP_SUMMARY: file } = process.env
    if (!file) return
    try {
      appendFileSync(file, `${markdownOf(result)}\n`)
    } catch (error) {
      this.output.say(`Can't write the step summary: ${String(error)}`)
    }
  }

  /** Written by the built-in resolver from what the host answered. */
  private async result(id: string): Promise<CheckResult | undefined> {
    const platform = await this.platform()
    const files = await platform.dataFiles(id)
    if (!files.some(({ path }) => path === REPORT)) return undefined
    const { stream } = await platform.data(id, REPORT)
    return JSON.parse(await text(stream)) as CheckResult
  }
}

function environmentIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return { ...value }
  } catch {
    // Told below.
  }
  throw usage('--environment is no JSON object; write it as \'{"port": 3000}\'.')
}
