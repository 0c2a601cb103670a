/** `resolve spec check`: tells every fault of feature specs, with its line, its rule and a better example. */
import * as Args from '@oclif/core/args'
import { checksOf } from '../../core/feature-spec/checks-of.ts'
import { parseFeatureSpec } from '../../core/feature-spec/parse-feature-spec.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { BaseCommand } from '../../terminal/command/base-command.ts'
import { type GivenSpec, givenSpec } from '../../terminal/input/given-spec.ts'
import { usage } from '../../terminal/output/command-error.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'

type CheckedSpec = GivenSpec & ReturnType<typeof parseFeatureSpec>

export default class SpecCheck extends BaseCommand<typeof SpecCheck> {
  static override place = 'always here' as const
  static override summary = 'Check feature specs'
  static override description = `Tells every fault at once, with its line and a better example.
  A feature spec has six sections: Feature Intent, Endpoints, Validation Rules, Error Cases, Integration Requirements, Proof.
  The exit code is 5 where one of them has a fault.`
  static override examples = [
    'resolve spec check notes.md',
    'resolve spec check specs/*.md',
    'resolve spec check notes.md --json',
    'resolve spec check - < notes.md',
  ]
  static override strict = false
  static override args = {
    file: Args.string({ required: true, description: 'files, or - for stdin' }),
  }

  protected async act(): Promise<number> {
    const words = [...new Set(this.words)]
    if (words.length === 0) throw usage('Name at least one file to check.')
    const specs: CheckedSpec[] = []
    for (const word of words) {
      const given = await givenSpec(word)
      specs.push({ ...given, ...parseFeatureSpec(given.text) })
    }
    const exitCode = specs.every(({ spec }) => spec !== null) ? EXIT.ok : EXIT.formInvalid
    if (this.output.forPerson) for (const one of specs) await this.print(one)
    else await this.output.document(toDocument(specs, exitCode))
    return exitCode
  }

  private async print({ label, spec, faults }: CheckedSpec): Promise<void> {
    const paint = (style: Parameters<typeof this.output.paint>[0], text: string) =>
      this.output.paint(style, text, process.stdout)
    const file = cleanLine(label)
    for (const { line, rule, message, better } of faults) {
      await this.output.raw(`${file}:${line}: ${paint('red', 'fault')}: ${cleanLine(message)} (${rule})\n`)
      await this.output.raw(`  ${paint('dim', `better: ${cleanLine(better)}`)}\n`)
    }
    if (spec === null) {
      await this.output.raw(`${paint('red', `✗ ${file}: ${counted(faults.length, 'fault')}`)}\n`)
      return
    }
    const size = [counted(spec.endpoints.length, 'endpoint'), counted(spec.proof.length, 'proof')].join(', ')
    const ready = counted(checksOf(spec).checks.length, 'HTTP check')
    await this.output.raw(`${paint('green', `✓ ${file}: ${size}; ${ready}`)}\n`)
  }
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

function toDocument(specs: readonly CheckedSpec[], exitCode: number) {
  return {
    schema: 'resolve.spec-check/1',
    exit_code: exitCode,
    valid: exitCode === EXIT.ok,
    files: specs.map(({ label, spec, faults }) => ({
      file: label,
      valid: spec !== null,
      endpoints: spec === null ? [] : spec.endpoints.map(({ method, path, status }) => ({ method, path, status })),
      checks: spec === null ? [] : checksOf(spec).checks,
      faults,
    })),
  }
}
