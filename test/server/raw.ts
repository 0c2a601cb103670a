/** Talks to a port with the bytes it is given: what a client library would never send. */
import { connect, type Socket } from 'node:net'

/** Everything the server says until it closes the connection, or until `until` is in it. */
export function exchange(port: number, bytes: string | readonly string[], until?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let heard = ''
    const timer = setTimeout(() => socket.destroy(new Error(`nothing more after ${JSON.stringify(heard)}`)), 10_000)
    const settle = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(heard)
    }
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1')
      if (until !== undefined && heard.includes(until)) settle()
    })
    socket.on('close', settle)
    socket.on('error', (error) => {
      clearTimeout(timer)
      // Cut off after it had answered.
      if (heard === '') reject(error)
      else resolve(heard)
    })
    for (const part of typeof bytes === 'string' ? [bytes] : bytes) socket.write(part, 'latin1')
  })
}

export function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Status and JSON body of one answer. */
export function parseAnswer(text: string): { status: number; headers: string; body: Record<string, unknown> } {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  return { status: Number(head.split(' ')[1]), headers: head.toLowerCase(), body: JSON.parse(body) }
}
