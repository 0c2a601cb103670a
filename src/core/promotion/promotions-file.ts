/**
 * `promotions.json` of an instance: what was promoted, kept before the forge is asked and after. It is how a host that adopts the instance
 * knows its own commits upstream, and what it must finish (docs/decisions/0031-promotion.md).
 */
import { join } from 'node:path'
import { fail, ResolveError, systemCode } from '../errors.ts'
import { readRegularFile } from '../files/read-regular-file.ts'
import { writeWhole } from '../files/write-whole.ts'
import { PROMOTIONS_FILE_MAX_BYTES, PROMOTIONS_MAX } from '../limits.ts'
import { fits } from '../schema/fits.ts'
import { flag, integer, listOf, nullable, object, oneOf, optional, type Static, text } from '../schema/schema.ts'

/** pushing: it may or may not be upstream. opening: it is upstream. open: its pull request is there. failed: its caller was told why. */
const promotion = object({
  repo: text(),
  branch: text(),
  target: text(),
  commit: text({ pattern: '^[0-9a-f]{40,64}$' }),
  /** What the branch of the instance had: another commit where it was rebased. A file of an earlier version does not say. */
  source: optional(text()),
  /** Every commit that this instance pushed, or may have pushed, to the branch; the latest last. */
  pushed: listOf(text()),
  by: oneOf(['worker', 'consumer']),
  stage: oneOf(['pushing', 'opening', 'open', 'failed']),
  title: text(),
  body: text(),
  draft: flag(),
  update: flag(),
  url: nullable(text()),
  number: nullable(integer()),
  /** Whether this instance created the pull request. */
  created: flag(),
  at: text(),
})
export type KeptPromotion = Static<typeof promotion>

const file = object({ version: integer(), promotions: listOf(promotion) })

/** `git`: the directory for git of an instance. */
export function promotionsFile(git: string): string {
  return join(git, 'promotions.json')
}

/** Empty where there is no file. Throws `promotions_broken`. */
export function readPromotions(path: string): KeptPromotion[] {
  try {
    const content: unknown = JSON.parse(
      readRegularFile(path, ({ size }) => {
        if (size > PROMOTIONS_FILE_MAX_BYTES) throw fail('promotions_broken', { path, reason: 'it is too large' })
      }),
    )
    if (fits(file, content)) return content.promotions
    throw fail('promotions_broken', { path, reason: 'it does not have the form of promotions' })
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    if (error instanceof ResolveError) throw error
    throw fail('promotions_broken', { path, reason: systemCode(error) ?? 'it is no JSON' }, { cause: error })
  }
}

/** Puts one promotion in the place of the one of the same repository, branch and target. The caller holds the lock of the file. */
export async function keepPromotion(path: string, kept: KeptPromotion): Promise<void> {
  const others = readPromotions(path).filter((one) => !isSame(one, kept))
  // The text is needed only as long as the promotion may be carried on.
  const isOver = kept.stage === 'open' || kept.stage === 'failed'
  const promotions = [...others, isOver ? { ...kept, body: '' } : kept].slice(-PROMOTIONS_MAX)
  await writeWhole(path, `${JSON.stringify({ version: 1, promotions }, null, 1)}\n`, { durable: true })
}

type Place = Pick<KeptPromotion, 'repo' | 'branch' | 'target'>

function isSame(one: Place, other: Place): boolean {
  return one.repo === other.repo && one.branch === other.branch && one.target === other.target
}

/** The commits that this instance pushed to a branch, whatever the target was. */
export function pushedTo(promotions: readonly KeptPromotion[], repo: string, branch: string): string[] {
  return promotions.filter((one) => one.repo === repo && one.branch === branch).flatMap(({ pushed }) => pushed)
}
