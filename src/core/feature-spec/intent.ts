/** The rules of the section Feature Intent: one sentence that starts with a verb. */
import { FEATURE_SPEC_INTENT_MAX_CHARS } from '../limits.ts'
import type { SpecItem } from './feature-spec.ts'
import { prose } from './items.ts'
import { quoted, type Report } from './rules.ts'
import type { Section } from './scan.ts'
import { vagueWord } from './words.ts'

/** Words that begin a sentence and are no verbs in the imperative. */
const NO_VERBS = new Set(
  'the a an this that these those it its there here we i you they he she our your my their user users people admin admins developer developers customers customer client clients system app application api feature service server page endpoint endpoints new when if as for in on at to with by from and or not also currently today should must will would could can may each every all some any no one is are be was were has have had'.split(
    ' ',
  ),
)
const VERBS =
  'add allow answer accept archive assign attach block build calculate cancel change check collect compute connect convert copy count create delete deliver deny detect disable display download enable enforce ensure expose export extend fetch fill filter find fix generate give group handle hide implement import improve include introduce keep let limit link list load log lock make manage mark merge migrate move notify offer open order paginate parse permit persist post prevent print protect provide publish read record redirect refactor refuse reject remove rename replace report require reset resolve restore restrict return rewrite save search send serve set share show sign sort split start stop store stream support switch sync tag throttle track transfer translate update upgrade upload validate verify write'.split(
    ' ',
  )
const ANOTHER_FEATURE =
  /\b(?:and also|as well as|in addition|additionally|and (?:add|build|create|implement|introduce|migrate|refactor|remove|replace|rewrite))\b/i

/** undefined where there is no text. */
export function readIntent(section: Section, report: Report): SpecItem | undefined {
  const lines = section.lines.filter((one) => one.kind === 'text' && one.text !== '')
  const [first] = lines
  if (first === undefined) return undefined
  const text = lines.map(({ text }) => text).join(' ')
  if (section.lines.some(({ kind }) => kind === 'block'))
    report('intent_sentence', first.line, 'The intent has a code block')
  const sentences = countSentences(prose(text))
  if (sentences > 1) report('intent_sentence', first.line, `The intent has ${sentences} sentences`)
  else if (/^(?:[-*+]|\d+[.)]|#+)\s/.test(text))
    report('intent_sentence', first.line, 'The intent is a list or a heading, not a sentence')
  if (text.length > FEATURE_SPEC_INTENT_MAX_CHARS)
    report('intent_long', first.line, `The intent has ${text.length} characters`)
  checkVerb(first.line, text, report)
  const second = ANOTHER_FEATURE.exec(prose(text))?.[0]
  if (second !== undefined) report('intent_scope', first.line, `"${second.trim()}" begins another feature`)
  const vague = vagueWord(prose(text))
  if (vague !== undefined) report('intent_vague', first.line, `"${vague}" cannot be checked`)
  return { line: first.line, text }
}

function checkVerb(line: number, text: string, report: Report): void {
  const [word = ''] = text.replace(/^[-*+_#\s]{1,10}/, '').split(/[\s,.:;]/, 1)
  const base = imperativeOf(word.toLowerCase())
  if (base === word.toLowerCase()) return
  const isForm = base !== undefined
  const better = isForm ? `${base.charAt(0).toUpperCase()}${base.slice(1)}${rest(text, word)}` : undefined
  report('intent_verb', line, `The intent starts with ${quoted(word)}, which is no verb in the imperative`, better)
}

/** The word itself if it may be an imperative, another word if it is a form of a known verb, otherwise undefined. */
function imperativeOf(word: string): string | undefined {
  if (VERBS.includes(word)) return word
  if (NO_VERBS.has(word) || /^please$/.test(word) || !/^[a-z][a-z-]{0,30}$/.test(word)) return undefined
  const known = VERBS.find((verb) => formsOf(verb).includes(word))
  if (known !== undefined) return known
  return /(?:ing|tion|sion|ment|ity|ness|ed|ly)$/.test(word) && word.length > 5 ? undefined : word
}

function formsOf(verb: string): string[] {
  const stem = verb.endsWith('e') ? verb.slice(0, -1) : verb
  const y = verb.endsWith('y') ? [`${verb.slice(0, -1)}ies`, `${verb.slice(0, -1)}ied`] : []
  const last = verb.at(-1) ?? ''
  return [`${verb}s`, `${verb}es`, `${stem}ing`, `${stem}ed`, `${verb}${last}ing`, `${verb}${last}ed`, ...y]
}

/** What follows the first word, as far as the example shows it. */
function rest(text: string, word: string): string {
  const after = text.slice(text.indexOf(word) + word.length)
  return after.length > 120 ? `${after.slice(0, 120)}…` : after
}

/** A full stop inside a word (`v1.2`, `e.g.`) ends no sentence. */
function countSentences(text: string): number {
  const ends = [...text.replaceAll(/\b(?:e\.g|i\.e|vs|approx|incl|max|min|No)\./gi, ' ').matchAll(/[.!?](?=\s+\S)/g)]
  return ends.length + 1
}
