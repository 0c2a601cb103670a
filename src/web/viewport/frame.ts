/**
 * The program inside the frame: imports the viewport's module and calls its default export, `mount(container, props)`. Bundled into
 * viewport.html; runs without an origin, next to the untrusted code of the module.
 */
import type { FromFrame, ToFrame, ViewportState } from './bridge.ts'

type Listener = (event: unknown) => void

const listeners = new Set<Listener>()
const calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
let lastCall = 0
let props: Record<string, unknown> = {}

/** WebRTC connects to any address: browsers do not know the directive `webrtc` of a policy yet (threats UI-3). */
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (!/RTC|^WebTransport/.test(name)) continue
  Object.defineProperty(globalThis, name, { value: undefined, writable: false, configurable: false })
}

function send(message: FromFrame): void {
  parent.postMessage(JSON.stringify(message), '*')
}

function call(make: (number: number) => FromFrame): Promise<unknown> {
  lastCall += 1
  const number = lastCall
  return new Promise((resolve, reject) => {
    calls.set(number, { resolve, reject })
    send(make(number))
  })
}

addEventListener('message', ({ source, data }: MessageEvent<ToFrame>) => {
  if (source !== parent) return
  if (data.type === 'begin') void begin(data)
  else if (data.type === 'ping') send({ type: 'pong' })
  else if (data.type === 'now') refresh(data.now)
  else if (data.type === 'events') take(data.events)
  else settle(data)
})

async function begin({
  code,
  instanceId,
  resolverName,
  events,
  now,
}: Extract<ToFrame, { type: 'begin' }>): Promise<void> {
  const container = document.getElementById('view')
  props = {
    instanceId,
    resolverName,
    ...now,
    events,
    fetchData: (path: unknown) => call((number) => ({ type: 'fetchData', call: number, path: String(path) })),
    sendMessage: (type: unknown, payload: Record<string, unknown> = {}) =>
      call((number) => ({ type: 'sendMessage', call: number, message_type: String(type), payload })),
    respondToInputRequest: (id: unknown, payload: Record<string, unknown> = {}) =>
      call((number) => ({ type: 'respond', call: number, request: String(id), payload })),
    onEvent(listener: Listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  dress(now)
  try {
    const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
    const module = (await import(url)) as { default?: unknown }
    URL.revokeObjectURL(url)
    if (typeof module.default !== 'function')
      return send({ type: 'failed', message: 'Its default export is not a function.' })
    await (module.default as (container: unknown, props: unknown) => unknown)(container, props)
    send({ type: 'mounted' })
  } catch (error) {
    send({ type: 'failed', message: String(error) })
  }
}

function refresh(now: ViewportState): void {
  Object.assign(props, now)
  dress(now)
}

function dress({ theme }: ViewportState): void {
  document.documentElement.dataset['theme'] = theme
  document.documentElement.style.colorScheme = theme
}

function take(events: readonly unknown[]): void {
  ;(props['events'] as unknown[]).push(...events)
  for (const event of events) for (const listener of listeners) listener(event)
}

function settle(data: Exclude<ToFrame, { type: 'begin' | 'ping' | 'now' | 'events' }>): void {
  const waiting = calls.get(data.call)
  calls.delete(data.call)
  if (data.type === 'done') waiting?.resolve(undefined)
  else if (data.type === 'refused') waiting?.reject(new Error(data.message))
  else {
    const headers = { 'content-type': data.contentType }
    waiting?.resolve(new Response(data.bytes, { status: data.status, headers }))
  }
}

send({ type: 'ready' })
