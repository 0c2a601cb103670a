/**
 * A receiver of webhooks, which checks the signature from the text of the Standard Webhooks specification, with Web Crypto and none of
 * our own code. What it answers can be changed.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  headers: IncomingHttpHeaders
  body: string
  isValid: boolean
}

export interface Delivered {
  type: string
  timestamp: string
  data: { instance_id: string; resolver: string; status: string; command: string } & Record<string, unknown>
}

export interface Receiver {
  url: string
  secret: string
  received: Received[]
  /** How it answers: a status, `hang`, `endless`: a status and a body without an end, or `upgrade`: status 101, and the connection stays open. */
  answer: number | 'hang' | 'endless' | 'upgrade'
  /** How many connections wait for an answer, or for its end. */
  open(): number
  valid(): Delivered[]
  invalid(): string[]
  close(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const secret = `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`
  const received: Received[] = []
  let open = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', async () => {
      received.push({ headers: request.headers, body, isValid: await isSigned(secret, request.headers, body) })
      if (receiver.answer === 'upgrade') {
        request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
        return
      }
      if (receiver.answer === 'hang' || receiver.answer === 'endless') {
        open += 1
        response.on('close', () => {
          open -= 1
        })
        return receiver.answer === 'hang' ? undefined : response.writeHead(200).write('x')
      }
      response.statusCode = receiver.answer
      response.end('{}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/path-canary-55`,
    ...{ secret, received },
    answer: 204,
    open: () => open,
    valid: () => received.filter(({ isValid }) => isValid).map(({ body }) => JSON.parse(body) as Delivered),
    invalid: () => received.filter(({ isValid }) => !isValid).map(({ body }) => body),
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return receiver
}

const TOLERANCE_S = 5 * 60

async function isSigned(secret: string, headers: IncomingHttpHeaders, body: string): Promise<boolean> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => headers[name],
  )
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_S) return false
  const bytes = Uint8Array.from(atob(secret.replace('whsec_', '')), (char) => char.charCodeAt(0))
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  for (const signature of String(signatures).split(' ')) {
    const [version, text = ''] = signature.split(',')
    const given = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
    if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, given, content))) return true
  }
  return false
}
