/**
 * The projections of journals for a process with many readers: each journal is read once, in parts between which other work gets
 * its turn, and from then on only what was added to it. {@link file://./../local/reads.ts} reads through it.
 */
import { JOURNALS_KEPT_MAX, JOURNALS_KEPT_MS, READ_SLICE_MS } from '../../limits.ts'
import { inTurns } from '../../primitives/in-turns.ts'
import { type JournalProjection, JournalProjector } from '../../store/journal-projection.ts'

interface Kept {
  projector: JournalProjector
  timer: NodeJS.Timeout
}

export class JournalCache {
  /** The journal that was read last is the last. */
  readonly #kept = new Map<string, Kept>()
  readonly #reading = new Map<string, Promise<JournalProjection>>()

  /**
   * Both projections as of now. They are shared and change with the next reading: use them before the next `await`, change
   * nothing. Throws `journal_broken`.
   */
  read(journal: string): Promise<JournalProjection> {
    const running = this.#reading.get(journal)
    // A running read goes on to the end of the journal, so it also sees what this caller has to see.
    if (running !== undefined) return running
    const reading = this.#read(journal).finally(() => this.#reading.delete(journal))
    this.#reading.set(journal, reading)
    return reading
  }

  async #read(journal: string): Promise<JournalProjection> {
    const kept = this.#take(journal)
    const projector = kept?.isCurrent === true ? kept : new JournalProjector(journal)
    await inTurns(projector.catchUp(), READ_SLICE_MS)
    const projection = projector.projection()
    this.#keep(journal, projector)
    return projection
  }

  #take(journal: string): JournalProjector | undefined {
    const kept = this.#kept.get(journal)
    clearTimeout(kept?.timer)
    this.#kept.delete(journal)
    return kept?.projector
  }

  #keep(journal: string, projector: JournalProjector): void {
    const timer = setTimeout(() => this.#kept.delete(journal), JOURNALS_KEPT_MS).unref()
    this.#kept.set(journal, { projector, timer })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > JOURNALS_KEPT_MAX && oldest !== undefined) this.#take(oldest)
  }
}
