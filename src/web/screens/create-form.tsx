/** The form of a new instance. Its fields depend on the input; submitting it creates the instance (spec, Progressive disclosure; R10). */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import type { Form, Payload } from '../../core/protocol/form.ts'
import { checkInput, createInstance } from '../api/calls.ts'
import { isPreparing } from '../api/problem.ts'
import { retryPauseMs, retryUnanswered } from '../api/queries.ts'
import { runCommand } from '../forms/as-command.ts'
import { FormView } from '../forms/form-view.tsx'
import { useFilling } from '../forms/use-filling.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Loading, Trouble } from '../parts/notice.tsx'
import { useMayAct } from '../parts/use-session.ts'

const PREPARING_POLL_S = 1

const NO_FIELDS: Form = { type: 'form', components: [] }

interface CreateFormProps {
  resolver: string
  before?: Payload
  /** A preview: fields change with the input, and nothing can be submitted. */
  isPreview?: boolean
}

export function CreateForm(props: CreateFormProps) {
  const { resolver } = props
  const first = useQuery({
    queryKey: ['form', resolver],
    queryFn: ({ signal }) => checkInput(resolver, {}, signal, PREPARING_POLL_S),
    // A setup may take minutes: its steps are shown until the form can be asked for (R48).
    retry: (count, error) => isPreparing(error) || retryUnanswered(count, error),
    retryDelay: (count, error) => (isPreparing(error) ? PREPARING_POLL_S * 1_000 : retryPauseMs(count)),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (first.isPending) {
    const { failureReason: why } = first
    return <Loading what={isPreparing(why) ? why.message : `Asking ${resolver} for its form…`} />
  }
  if (first.isError) {
    return (
      <Trouble error={first.error}>
        <button type="button" className="button" onClick={() => void first.refetch()}>
          Ask again
        </button>
      </Trouble>
    )
  }
  return <OpenForm {...props} form={first.data.form} />
}

function OpenForm({ resolver, before, form, isPreview = false }: CreateFormProps & { form: Form | null }) {
  const [, go] = useLocation()
  const client = useQueryClient()
  const mayAct = useMayAct()
  const filling = useFilling({
    form: form ?? NO_FIELDS,
    draft: `${isPreview ? 'try' : 'new'}.${resolver}`,
    ...(before === undefined ? {} : { before }),
    disclose: (input, signal) => checkInput(resolver, input, signal),
    submit: async (payload) => {
      const record = await createInstance(resolver, { ...extraOf(before, form), ...payload }, null)
      void client.invalidateQueries({ queryKey: ['instances'] })
      go(`/instances/${record.instance_id}/timeline`)
    },
  })
  const copy = <CopyButton text={runCommand(resolver, filling.form, filling.values)}>Copy as CLI</CopyButton>
  const locked = mayAct ? null : 'Your token can only read: it can’t start instances.'
  if (isPreview) return <FormView filling={filling} submitLabel={null} beside={copy} />
  return (
    <>
      {filling.form.components.length === 0 && <p className="quiet">The form has no fields.</p>}
      <FormView filling={filling} submitLabel="Start" locked={locked} beside={copy} />
    </>
  )
}

/** The keys of an earlier input that are not fields of the form (R36). */
function extraOf(before: Payload | undefined, form: Form | null): Payload {
  if (before === undefined || form !== null) return {}
  return before
}
