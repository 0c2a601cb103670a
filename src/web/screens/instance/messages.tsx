/** The forms of the messages that the instance accepts now, and the messages sent so far (spec, Message type). */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { MessageType } from '../../../core/protocol/instance.ts'
import { isTerminal } from '../../../core/protocol/status.ts'
import { cleanText } from '../../../core/view/clean.ts'
import { fetchMessages, fetchMessageTypes, sendMessage } from '../../api/calls.ts'
import { FormView } from '../../forms/form-view.tsx'
import { useFilling } from '../../forms/use-filling.ts'
import type { TabProps } from '../../live/tab-props.ts'
import { Ago } from '../../parts/ago.tsx'
import { Empty, Loading, Trouble } from '../../parts/notice.tsx'
import { useMayAct } from '../../parts/use-session.ts'

const EVERY_MS = 5_000

export default function MessagesTab({ id, live }: TabProps) {
  const status = live.story?.status
  const canTake = status === 'running' || status === 'awaiting_input'
  // The accepted types can change with the phase.
  const types = useQuery({
    queryKey: ['message-types', id, status, live.story?.phase],
    queryFn: () => fetchMessageTypes(id),
    enabled: canTake,
    refetchInterval: EVERY_MS,
  })
  return (
    <div className="messages">
      <section aria-labelledby="send">
        <h2 id="send">Send a message</h2>
        {!canTake && <Empty>{whyNot(status !== undefined && isTerminal(status))}</Empty>}
        {canTake && types.isPending && <Loading what="Loading the message types…" />}
        {canTake && types.isError && types.data === undefined && <Trouble error={types.error} />}
        {canTake && types.data?.length === 0 && <Empty>The resolver accepts no messages now.</Empty>}
        {canTake && types.data !== undefined && types.data.length > 0 && <Choice id={id} types={types.data} />}
      </section>
      <Sent id={id} count={live.story?.messages.length ?? 0} />
    </div>
  )
}

function whyNot(hasEnded: boolean): string {
  return hasEnded
    ? 'The instance has ended and accepts no more messages.'
    : 'The instance accepts messages only while it runs.'
}

function Choice({ id, types }: { id: string; types: readonly MessageType[] }) {
  const [wanted, setWanted] = useState(types[0]?.name)
  const chosen = types.find(({ name }) => name === wanted) ?? types[0]
  if (chosen === undefined) return null
  return (
    <div className="card">
      <div className="field">
        <label htmlFor="message-type">Kind of message</label>
        <select id="message-type" value={chosen.name} onChange={(event) => setWanted(event.target.value)}>
          {types.map(({ name, label }) => (
            <option key={name} value={name}>
              {label || name}
            </option>
          ))}
        </select>
        <p className="field-about">{chosen.description}</p>
      </div>
      <MessageForm key={`${chosen.name} ${JSON.stringify(chosen.schema)}`} id={id} type={chosen} />
    </div>
  )
}

function MessageForm({ id, type }: { id: string; type: MessageType }) {
  const [sent, setSent] = useState(0)
  return <OneMessage key={sent} id={id} type={type} wasSent={sent > 0} onSent={() => setSent(sent + 1)} />
}

interface OneMessageProps {
  id: string
  type: MessageType
  wasSent: boolean
  onSent: () => void
}

function OneMessage({ id, type, wasSent, onSent }: OneMessageProps) {
  const mayAct = useMayAct()
  const filling = useFilling({
    form: type.schema,
    draft: `message.${id}.${type.name}`,
    submit: (payload) => sendMessage(id, type.name, payload),
    onDone: onSent,
  })
  return (
    <FormView
      filling={filling}
      submitLabel="Send"
      locked={mayAct ? null : 'Your token can only read: it can’t send messages.'}
      beside={<span role="status">{wasSent ? 'Sent.' : ''}</span>}
    />
  )
}

function Sent({ id, count }: { id: string; count: number }) {
  const { data, refetch } = useQuery({ queryKey: ['messages', id], queryFn: () => fetchMessages(id) })
  useEffect(() => void refetch(), [count, refetch])
  if (data === undefined || data.length === 0) return null
  return (
    <section aria-labelledby="sent">
      <h2 id="sent">Sent so far</h2>
      <ol className="sent">
        {data.map(({ number, message_type, payload, actor, via, at }) => (
          <li key={number} className="card">
            <p className="quiet">
              {message_type} · {actor} ({via}) · <Ago at={at} />
            </p>
            <dl className="pairs">
              {Object.entries(payload).map(([key, value]) => (
                <div key={key}>
                  <dt>{key}</dt>
                  <dd>{cleanText(typeof value === 'string' ? value : JSON.stringify(value))}</dd>
                </div>
              ))}
            </dl>
          </li>
        ))}
      </ol>
    </section>
  )
}
