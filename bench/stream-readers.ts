/**
 * The readers of {@link file://./readers.ts}, all in one process: live ones check every number and note the age of each event;
 * stalled ones request everything and read nothing. Arguments: address, readers, stalled readers, events to skip.
 */
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

/** A page of frames as HTTP sends it: no event contains a CR. */
const CHUNK_HEAD = /\r\n[0-9a-f]+\r\n/g

/** Only what is needed for number and age: a full HTTP client per reader would cost more than the server. */
function read(after: number): void {
  let seen = after
  let rest = ''
  const socket = connect(Number(url.port), url.hostname)
  socket.write(`GET ${url.pathname}?after=${after} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`)
  socket.on('data', (bytes: Buffer) => {
    const now = performance.timeOrigin + performance.now()
    const text = (rest + bytes.toString('latin1')).replace(CHUNK_HEAD, '')
    let start = 0
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', start)) {
      if (text.startsWith('id: ', start)) {
        const seq = Number.parseInt(text.slice(start + 4, start + 16), 10)
        if (seq !== seen + 1) faults += 1
        seen = seq
        const at = text.indexOf('"at":', start)
        if (at !== -1 && at < end) ages.push(now - Number.parseFloat(text.slice(at + 5, at + 25)))
      } else if (text.slice(start, end).includes('retry')) arrive()
      start = end + 2
    }
    rest = text.slice(start)
  })
  socket.on('end', () => {
    events = Math.max(events, seen - after)
    if (seen - after !== events) faults += 1
    end()
  })
  socket.on('error', () => {
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
  // By then the server has finished the reads that stalled readers cause at their start.
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
