/** What the server found before a promotion, as sentences for the person who decides. Pure. */
import { bytesText } from '../../../../core/view/bytes-text.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import type { PromotionFound } from '../../../api/calls.ts'
import { Problem, sentenceOf } from '../../../api/problem.ts'

export interface PromotionCheck {
  /** `note`: told, not refused. */
  kind: 'fine' | 'note' | 'refused'
  text: string
  paths: readonly string[]
}

export const CHECK_MARKS = { fine: '✓', note: '!', refused: '✗' } as const

export function promotionChecks(found: PromotionFound): PromotionCheck[] {
  const { ahead, behind, files, additions, deletions, bytes } = found
  const target = cleanLine(found.target_branch)
  const size = `${several(files, 'file')}, +${additions} −${deletions}, ${bytesText(bytes)}`
  return [
    fine(`${several(ahead, 'commit')} for ${target}: ${size}.`),
    behind === 0
      ? fine(`The branch has every commit of ${target}.`)
      : note(`${target} has ${several(behind, 'commit')} that the branch does not have.`),
    listed(found.conflicts, `No conflicts with ${target}.`, note(`In conflict with ${target}; a person has to merge:`)),
    listed(found.secrets, 'No known secret in the added lines.', {
      kind: 'refused',
      text: 'Adds a known secret. The server refuses to push it; remove it from every commit of the branch:',
      paths: [],
    }),
    listed(
      found.sensitive,
      'No files that run with the rights of the forge.',
      note('Files that run or decide with the rights of the forge:'),
    ),
  ]
}

/** Hints of the catalogue that name flags of the command line, as the form says them. */
const HINTS: Readonly<Record<string, string>> = {
  promotion_needs_approval: '',
  promotion_commit_changed: 'Look at the checks again, then promote.',
  promotion_conflict: 'Promote without the rebase, or let the resolver bring the target in and push again.',
}

export function refusalText(error: unknown): string {
  const hint = error instanceof Problem && Object.hasOwn(HINTS, error.code) ? HINTS[error.code] : undefined
  return hint === undefined ? sentenceOf(error) : `${(error as Problem).message} ${hint}`.trim()
}

export function several(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`
}

function fine(text: string): PromotionCheck {
  return { kind: 'fine', text, paths: [] }
}

function note(text: string): PromotionCheck {
  return { kind: 'note', text, paths: [] }
}

function listed(paths: readonly string[], none: string, some: PromotionCheck): PromotionCheck {
  return paths.length === 0 ? fine(none) : { ...some, paths: paths.map(cleanLine) }
}
