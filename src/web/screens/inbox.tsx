/** The open input requests of all instances, oldest first, with their forms. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { InboxEntry } from '../../core/protocol/instance.ts'
import { cleanText } from '../../core/view/clean.ts'
import { isUnreachable } from '../api/problem.ts'
import { inboxQuery } from '../api/queries.ts'
import { Ago } from '../parts/ago.tsx'
import { Empty, Loading, Trouble } from '../parts/notice.tsx'
import { Screen } from '../parts/screen.tsx'
import { RequestForm } from './request-form.tsx'

export function InboxScreen() {
  const { data: entries, isPending, isError, error } = useQuery(inboxQuery)
  return (
    <Screen title="Inbox">
      {isError && !(entries !== undefined && isUnreachable(error)) && <Trouble error={error} />}
      {isPending && <Loading what="Loading the questions…" />}
      {entries?.length === 0 && <Empty>No open questions.</Empty>}
      {entries?.map((entry) => (
        <RequestCard key={`${entry.instance_id} ${entry.request.id} ${entry.asked_at}`} entry={entry} />
      ))}
    </Screen>
  )
}

function RequestCard({ entry }: { entry: InboxEntry }) {
  const client = useQueryClient()
  const { instance_id: id, name, resolver, asked_at, request } = entry
  return (
    <section className="card question" data-request-id={request.id} aria-labelledby={`q-${id}-${request.id}`}>
      <p className="question-from">
        <Link href={`/instances/${id}/timeline`}>{name ?? id}</Link> · {resolver} · asked <Ago at={asked_at} />
      </p>
      <h2 className="question-prompt" id={`q-${id}-${request.id}`} tabIndex={-1} data-key-item="">
        {cleanText(request.prompt)}
      </h2>
      <RequestForm
        instance={id}
        resolver={resolver}
        request={request}
        onAnswered={() => {
          void client.invalidateQueries({ queryKey: ['inbox'] })
          void client.invalidateQueries({ queryKey: ['pending', id] })
          void client.invalidateQueries({ queryKey: ['instances'] })
        }}
      />
    </section>
  )
}
