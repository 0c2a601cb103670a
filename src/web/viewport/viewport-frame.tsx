/**
 * The page's side of a viewport: a sandboxed frame that receives the events of the instance. A frame that fails, floods the page or
 * stops answering is removed; the rest of the page is not affected (docs/viewport.md; threats UI-3).
 */
import { useEffect, useRef, useState } from 'react'
import { pendingRequests, type Story } from '../../core/view/story.ts'
import type { LiveInstance } from '../live/instance-live.ts'
import { Loading, Trouble } from '../parts/notice.tsx'
import { useTheme } from '../parts/theme.ts'
import { FROM_FRAME_PER_SECOND, parseFromFrame, type ToFrame, type ViewportState } from './bridge.ts'
import { ProposedAnswers, useProposedAnswers } from './proposed-answers.tsx'
import { frameServer } from './serve-frame.ts'

interface ViewportFrameProps {
  id: string
  code: string
  live: LiveInstance
  story: Story
  state: Record<string, unknown> | null
}

type Phase = { name: 'loading' | 'running' } | { name: 'failed'; why: string }

const PING_MS = 2_000
/** The frame is removed if it does not answer for this long. */
const SILENCE_LIMIT_MS = 8_000

export function ViewportFrame(props: ViewportFrameProps) {
  const [attempt, setAttempt] = useState(0)
  return <OneFrame key={attempt} {...props} onAgain={() => setAttempt(attempt + 1)} />
}

function OneFrame({ id, code, live, story, state, onAgain }: ViewportFrameProps & { onAgain: () => void }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [phase, setPhase] = useState<Phase>({ name: 'loading' })
  const theme = useTheme()
  const now: ViewportState = {
    status: story.status,
    state,
    inputRequests: pendingRequests(story).map(({ id, prompt, schema, status }) => ({ id, prompt, schema, status })),
    theme,
  }
  // The values of the last render, for the listeners below.
  const latest = useRef({ now, live, story })
  latest.current = { now, live, story }
  const sent = useRef(-1)
  const { proposed, agree, decide } = useProposedAnswers()

  const send = (message: ToFrame) => frame.current?.contentWindow?.postMessage(message, '*')

  useEffect(() => {
    const serve = frameServer(id, agree)
    let lastSign = performance.now()
    let second = 0
    let inSecond = 0
    const fail = (why: string) => setPhase({ name: 'failed', why })
    const onMessage = ({ source, data }: MessageEvent<unknown>) => {
      if (source === null || source !== frame.current?.contentWindow) return
      const at = performance.now()
      if (Math.floor(at / 1_000) !== second) inSecond = 0
      second = Math.floor(at / 1_000)
      inSecond += 1
      if (inSecond > FROM_FRAME_PER_SECOND) return fail('It sent too many messages.')
      const message = parseFromFrame(data)
      if (message === undefined) return fail('It sent an invalid message.')
      lastSign = at
      if (message.type === 'failed') return fail(message.message)
      if (message.type === 'mounted') return setPhase({ name: 'running' })
      if (message.type === 'ready') return begin()
      if ('call' in message) void serve(message).then(send)
    }
    const begin = () => {
      // Only once: a frame that loads another document gets no more data.
      if (sent.current !== -1) return fail('It loaded another document.')
      const { now, live, story } = latest.current
      sent.current = live.count
      const events = live.events.map(({ event }) => event)
      send({ type: 'begin', code, instanceId: id, resolverName: story.creation.resolver.name, events, now })
    }
    const ping = setInterval(() => {
      // A hidden page receives messages late.
      if (document.visibilityState === 'hidden') lastSign = performance.now()
      if (performance.now() - lastSign > SILENCE_LIMIT_MS) fail('It does not answer.')
      else send({ type: 'ping' })
    }, PING_MS)
    addEventListener('message', onMessage)
    return () => {
      removeEventListener('message', onMessage)
      clearInterval(ping)
      sent.current = -1
    }
  }, [id, code, agree])

  const nowText = JSON.stringify(now)
  useEffect(() => {
    if (sent.current !== -1) send({ type: 'now', now: latest.current.now })
  }, [nowText])
  useEffect(() => {
    if (sent.current === -1 || live.count <= sent.current) return
    const events = live.events.slice(sent.current).map(({ event }) => event)
    sent.current = live.count
    send({ type: 'events', events })
  }, [live.count, live.events])

  if (phase.name === 'failed') {
    return (
      <Trouble error={`The resolver’s view has failed: ${phase.why}`}>
        <button type="button" className="button" onClick={onAgain}>
          Open it again
        </button>
      </Trouble>
    )
  }
  return (
    <div className="viewport" data-viewport={phase.name}>
      {phase.name === 'loading' && <Loading what="The view is loading…" />}
      <p className="quiet">
        This view comes from {story.creation.resolver.name}. It is isolated from this page and can access only this
        instance.
      </p>
      <ProposedAnswers proposed={proposed} requests={now.inputRequests} onDecision={decide} />
      <iframe
        ref={frame}
        title={`View of ${story.creation.resolver.name}`}
        sandbox="allow-scripts"
        src="/viewport.html"
        referrerPolicy="no-referrer"
      />
    </div>
  )
}
