/**
 * The readers of {@link file://./readers.ts}, all in one process: live ones that check every number and note how old each event
 * is, and stalled ones that ask for everything and take nothing. Arguments: address, readers, stalled ones, events to skip.
 */
import { get } from 'node:http'
import { connect } from 'node:net'

const [address = '', readerCount = '1', stalledCount = '0', history = '0'] = process.argv.slice(2)
const url = new URL(address)

const ages: number[] = []
let faults = 0
let arrived = 0
let ended = 0
let events = 0

/** The number of the last event before the steady stream. */
async function skip(): Promise<number> {
  const answer = await fetch(`${address}?follow=false&after=${history}`)
  const numbers = (await answer.text()).match(/^id: \d+$/gm) ?? []
  return Number(numbers.at(-1)?.slice(4) ?? history)
}

function read(after: number): void {
  let seen = after
  let rest = ''
  get(`${address}?after=${after}`, { agent: false }, (answer) => {
    answer.setEncoding('latin1')
    answer.on('data', (text: string) => {
      const now = performance.timeOrigin + performance.now()
      const frames = (rest + text).split('\n\n')
      rest = frames.pop() as string
      for (const frame of frames) {
        if (!frame.startsWith('id: ')) {
          if (frame.startsWith('retry')) arrive()
          continue
        }
        const seq = Number.parseInt(frame.slice(4), 10)
        if (seq !== seen + 1) faults += 1
        seen = seq
        const at = frame.indexOf('"at":')
        if (at !== -1) ages.push(now - Number.parseFloat(frame.slice(at + 5, at + 25)))
      }
    })
    answer.on('end', () => {
      events = Math.max(events, seen - after)
      if (seen - after !== events) faults += 1
      end()
    })
  }).on('error', () => {
    faults += 1
    end()
  })
}

function stall(): void {
  const socket = connect(Number(url.port), url.hostname)
  socket.pause()
  socket.on('error', () => {})
  socket.write(`GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`)
}

function arrive(): void {
  arrived += 1
  // What stalled readers make the server read first is over by then.
  if (arrived === Number(readerCount)) setTimeout(() => process.send?.('ready'), 1_500)
}

function end(): void {
  ended += 1
  if (ended < Number(readerCount)) return
  ages.sort((a, b) => a - b)
  const at = (share: number) => ages[Math.min(ages.length - 1, Math.floor(ages.length * share))] ?? 0
  process.send?.({ readers: ended, events, faults, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) })
}

const after = await skip()
for (let n = 0; n < Number(stalledCount); n += 1) stall()
for (let n = 0; n < Number(readerCount); n += 1) {
  read(after)
  if (n % 50 === 49) await new Promise((resolve) => setTimeout(resolve, 20))
}
