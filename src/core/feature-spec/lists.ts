/** The rules of the sections Validation Rules, Error Cases and Integration Requirements. */
import type { ErrorCase, SpecItem } from './feature-spec.ts'
import { itemsOf, prose } from './items.ts'
import { quoted, type Report } from './rules.ts'
import type { Section } from './scan.ts'
import { vagueWord } from './words.ts'

/** A section may say that it has none: `- None` under Validation Rules. */
const NONE = /^(?:none|no (?:validation|input|parameters|errors?|integration)\b)/i
const CONSTRAINT =
  /\d|`|\b(?:must|shall|required|optional|exactly|at (?:least|most)|between|only|one of|unique|non-?empty|not empty|match(?:es)?|exists?|integer|number|boolean|string|uuid|date|e-?mail|url|format|default(?:s)?|sorted|trimmed|case-insensitive|none)\b/i
const UNNAMED_PATTERN =
  /^(?:(?:follow|use|match|keep|respect|adhere to|integrate with|work with|be consistent with)\s+)?(?:the |all |our |any )?(?:established|existing|current|usual|standard|common|best|good)\s+(?:code ?base|system|code|patterns?|conventions?|practices?|style|architecture|app|application|project)?s?\s*(?:of the (?:project|codebase|system|repository))?[.!]?$/i

export function readValidation(section: Section, report: Report): SpecItem[] {
  const items = listed(section, 'validation_item', report)
  for (const { line, text } of items) {
    const vague = vagueWord(prose(text))
    if (vague !== undefined) report('validation_vague', line, `"${vague}" cannot be checked`)
    else if (!CONSTRAINT.test(text)) report('validation_exact', line, `${quoted(text)} states no exact constraint`)
  }
  return items
}

export function readErrors(section: Section, report: Report): ErrorCase[] {
  const known = new Map<string, number>()
  return listed(section, 'error_item', report).flatMap(({ line, text }) => {
    if (NONE.test(text)) return []
    const bare = text.replaceAll(/[`*]/g, '')
    const found = [...bare.matchAll(/(?<![\w.,])[1-5]\d\d(?![\w,]|\.\d)/g)].map(([word]) => Number(word))
    const status = found.find((one) => one >= 400 && one <= 599)
    if (status === undefined) {
      const said = /\b[45]xx\b/i.exec(bare)?.[0] ?? found[0]
      report(
        'error_status',
        line,
        said === undefined ? `${quoted(text)} has no status` : `${said} is not one status from 400 to 599`,
      )
    }
    const trigger = triggerOf(bare)
    if (status !== undefined && trigger.length < 3)
      report('error_trigger', line, `${quoted(text)} does not say what triggers it`)
    const vague = vagueWord(prose(text))
    if (vague !== undefined) report('error_vague', line, `"${vague}" cannot be checked`)
    const earlier = known.get(bare.toLowerCase())
    if (earlier !== undefined) report('error_twice', line, `This error case is in line ${earlier} too`)
    known.set(bare.toLowerCase(), line)
    return status === undefined ? [] : [{ line, text, status, trigger }]
  })
}

/** `404 (Not Found) for an unknown id`: `an unknown id`. */
function triggerOf(bare: string): string {
  return bare
    .replace(/[45]\d\d/, ' ')
    .trim()
    .replace(
      /^\(?(?:bad request|unauthorized|forbidden|not found|conflict|gone|unprocessable (?:entity|content)|too many requests|internal server error|payload too large|content too large)\)?/i,
      '',
    )
    .trim()
    .replace(/^(?:[-–—:]|(?:for|if|when|on|error|returns?|status)\b)/i, '')
    .trim()
}

export function readIntegration(section: Section, report: Report): SpecItem[] {
  const items = listed(section, 'integration_item', report)
  for (const { line, text } of items) {
    const vague = vagueWord(prose(text))
    if (vague !== undefined) report('integration_vague', line, `"${vague}" cannot be checked`)
    else if (text.length < 200 && UNNAMED_PATTERN.test(text))
      report('integration_vague', line, `${quoted(text)} names no pattern`)
  }
  return items
}

/** The items; text without a list is a fault. An empty section was told by {@link file://./parse-feature-spec.ts}. */
export function listed(
  section: Section,
  rule: 'validation_item' | 'error_item' | 'integration_item' | 'proof_item',
  report: Report,
): SpecItem[] {
  const items = itemsOf(section)
  const first = section.lines.find((one) => one.kind === 'block' || one.text !== '')
  if (items.length === 0 && first !== undefined) report(rule, first.line, `${section.name} has no list`)
  return items
}
