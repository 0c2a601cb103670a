/** A reader that accepts everything at once does not keep the event loop: counted in bytes for each turn (R15, threats WEB-11). */
import { createServer } from 'node:http'
import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { JournalFeeds } from '../../src/core/platform/journal/journal-feed.ts'
import { EventStreams } from '../../src/server/http/sse.ts'
import { GrowingJournal } from '../support/event-stream.ts'
import { bytesPerTurn } from '../support/turns.ts'

test('a long journal is replayed piece by piece, with other work in between, to readers of any speed', async () => {
  const journal = new GrowingJournal()
  for (let part = 0; part < 16; part += 1) journal.add(256, (n) => ({ n, pad: 'x'.repeat(1_000) }))
  journal.finish()
  const streams = new EventStreams()
  const feeds = new JournalFeeds()
  const turns = bytesPerTurn()
  let sent = 0
  const server = createServer((_request, response) => {
    const held = feeds.hold(journal.path, { ensureHost: async () => {}, hasEnded: () => true })
    streams.open(response, { ...held, offset: held.feed.cursor(0), follow: false, tokenId: null })
  })
  const read = () =>
    new Promise<void>((resolve) => {
      // Writes end in the same turn, as those to a reader on this machine do.
      const connection = new Duplex({
        read() {},
        write(bytes: Buffer, _encoding, done) {
          sent += bytes.length
          turns.count(bytes.length)
          done()
        },
        final(done) {
          done()
          resolve()
        },
      })
      server.emit('connection', connection)
      connection.push('GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n')
    })
  await Promise.all([read(), read(), read(), read()])
  turns.stop()
  expect(sent).toBeGreaterThan(16_000_000)
  expect(turns.most()).toBeLessThan(2_000_000)
})
