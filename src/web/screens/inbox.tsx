/** The open input requests of all instances, oldest first, with their forms. */
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { InputRequest, InstanceRecord } from '../../core/protocol/instance.ts'
import { instancesQuery, pendingQuery, WAITING } from '../api/queries.ts'
import { Ago } from '../parts/ago.tsx'
import { Empty, Loading, Trouble } from '../parts/notice.tsx'
import { Screen } from '../parts/screen.tsx'
import { RequestForm } from './request-form.tsx'

const SHOWN_MAX = 100

export function InboxScreen() {
  const waiting = useQuery(instancesQuery({ status: WAITING, limit: SHOWN_MAX }))
  const records = [...(waiting.data?.records ?? [])].sort((a, b) => a.updated_at.localeCompare(b.updated_at))
  const asked = useQueries({ queries: records.map((record) => pendingQuery(record.instance_id)) })
  const questions = records.flatMap((record, at) => (asked[at]?.data ?? []).map((request) => ({ record, request })))
  const isWaiting = waiting.isPending || asked.some((one) => one.isPending)
  return (
    <Screen title="Inbox">
      {waiting.isError && <Trouble error={waiting.error} />}
      {isWaiting && questions.length === 0 && <Loading what="Loading the questions…" />}
      {!isWaiting && !waiting.isError && questions.length === 0 && <Empty>No open questions.</Empty>}
      {questions.map(({ record, request }) => (
        <RequestCard key={`${record.instance_id} ${request.id}`} record={record} request={request} />
      ))}
    </Screen>
  )
}

function RequestCard({ record, request }: { record: InstanceRecord; request: InputRequest }) {
  const client = useQueryClient()
  const { instance_id: id, name, resolver, updated_at } = record
  return (
    <section className="card question" data-request-id={request.id} aria-labelledby={`q-${id}-${request.id}`}>
      <p className="question-from">
        <Link href={`/instances/${id}/timeline`}>{name ?? id}</Link> · {resolver} · <Ago at={updated_at} />
      </p>
      <h2 className="question-prompt" id={`q-${id}-${request.id}`}>
        {request.prompt}
      </h2>
      <RequestForm
        instance={id}
        resolver={resolver}
        request={request}
        onAnswered={() => {
          void client.invalidateQueries({ queryKey: ['pending', id] })
          void client.invalidateQueries({ queryKey: ['instances'] })
        }}
      />
    </section>
  )
}
