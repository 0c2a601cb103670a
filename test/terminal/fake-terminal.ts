/** A terminal in memory: its size, what was written to it, and keys that can be typed. */
import { EventEmitter } from 'node:events'

export interface FakeTerminal {
  stderr: NodeJS.WriteStream
  stdin: NodeJS.ReadStream & { type(keys: string): void }
  written(): string
}

export function fakeTerminal({ rows = 24, columns = 80, keep = true } = {}): FakeTerminal {
  let text = ''
  const stderr = Object.assign(new EventEmitter(), {
    isTTY: true,
    rows,
    columns,
    writable: true,
    write(chunk: string, done?: () => void) {
      if (keep) text += chunk
      if (done !== undefined) setImmediate(done)
      return true
    },
  })
  const typed: string[] = []
  const stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    setRawMode() {},
    setEncoding() {},
    ref() {},
    unref() {},
    resume() {},
    pause() {},
    read: () => typed.shift() ?? null,
    type(keys: string) {
      typed.push(keys)
      stdin.emit('readable')
      stdin.emit('data', keys)
    },
  })
  return {
    stderr: stderr as unknown as NodeJS.WriteStream,
    stdin: stdin as unknown as FakeTerminal['stdin'],
    written: () => text,
  }
}
