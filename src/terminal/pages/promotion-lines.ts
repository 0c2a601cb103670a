/** What a promotion would bring upstream, for a person who decides. */
import type { PromotionOutcome } from '../../core/index.ts'
import { bytesText } from '../../core/view/bytes-text.ts'
import { cleanLine } from '../../core/view/clean.ts'

const PATHS_SHOWN = 10

export function promotionLines(found: PromotionOutcome): string[] {
  const { repo, branch, target_branch, pr_title, pr_body = '', commit } = found
  const { ahead, files, additions, deletions, bytes } = found
  const [firstLine = '', ...more] = pr_body.trim().split('\n')
  return [
    `${repo}: ${branch} → ${target_branch}`,
    `Title: ${pr_title}`,
    ...(firstLine === '' ? [] : [`Text: ${firstLine}${more.length === 0 ? '' : ` (${more.length} more lines)`}`]),
    `Commit: ${commit}`,
    `${several(ahead, 'commit')}, ${several(files, 'file')}, +${additions} −${deletions}, ${bytesText(bytes)}`,
    ...promotionNotes(found),
    ...listed('Run with the rights of the forge', found.sensitive),
    ...listed('Holds a known secret', found.secrets),
  ].map(cleanLine)
}

/** Where the target has moved on: told, and not refused. */
export function promotionNotes({ behind, conflicts }: PromotionOutcome): string[] {
  return [
    ...(behind === 0
      ? []
      : [`The target has ${several(behind, 'commit')} that the branch does not have. --rebase brings them in.`]),
    ...listed('In conflict with the target', conflicts),
  ].map(cleanLine)
}

function several(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

function listed(title: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return []
  const more = paths.length > PATHS_SHOWN ? `, ${paths.length - PATHS_SHOWN} more` : ''
  return [`${title}: ${paths.slice(0, PATHS_SHOWN).join(', ')}${more}`]
}
