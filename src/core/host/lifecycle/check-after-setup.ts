/**
 * Checks the input of an instance whose resolver was not prepared when it was created: its setup is done now, so that it can be asked
 * (R48). {@link file://./launch.ts} calls it before the first launch.
 */
import { fail } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { type SplitPayload, textsIn } from '../../forms/secret-fields.ts'
import { admitAfterSetup } from '../inquiry/admission.ts'
import { withoutTexts } from '../inquiry/inquiry.ts'
import type { SealedPayloads } from '../launch/sealed-payloads.ts'
import type { Ledger } from '../ledger/ledger.ts'

interface UncheckedInstance {
  home: string
  ledger: Ledger
  sealed: SealedPayloads
  write: (line: () => void) => Promise<void>
  signal: AbortSignal
}

/** Its outcome is in the journal when this returns. Throws `form_invalid`, `schedule_secret`, and the errors of the resolver without any text of the input. */
export async function checkAfterSetup({ home, ledger, sealed, write, signal }: UncheckedInstance): Promise<void> {
  const { creation } = ledger.story
  const input = sealed.unchecked
  const keep = async ({ open, secret }: SplitPayload, found: Found) => {
    const fields = secret === null ? [] : Object.keys(secret)
    const kept = secret === null ? null : sealed.take(secret)
    await write(() => ledger.admit({ kind: 'admitted', ...found, input: open, secret_fields: fields, sealed: kept }))
    if (secret === null) sealed.removeList()
  }
  const none = { accepted: false, environment: {}, container: creation.container ?? null }
  try {
    const { environment, container, workspace, ...split } = await admitAfterSetup(
      home,
      creation,
      input,
      signal,
      (refused) => keep(refused, none),
    )
    signal.throwIfAborted()
    const [field] = Object.keys(split.secret ?? {})
    if (creation.schedule !== undefined && field !== undefined) {
      // The file of schedules has the value in clear: the runner removes it when it sees this error.
      await keep(split, none)
      throw fail('schedule_secret', { field, secret_fields: Object.keys(split.secret ?? {}) })
    }
    await keep(split, { accepted: true, environment, container, ...(workspace === null ? {} : { workspace }) })
  } catch (error) {
    // Before the form is known, any text of the input may be a secret that the resolver printed.
    throw creation.unchecked === true && ledger.inbox.admission === undefined
      ? withoutTexts(error, textsIn(input))
      : error
  }
  failpoint('setup.admitted')
}

type Found = Pick<NonNullable<Ledger['inbox']['admission']>, 'accepted' | 'environment' | 'container' | 'workspace'>
