/** How an MCP server is reached over HTTP: what it answers is bounded, and nothing waits for ever. */
import { MCP_CLOSE_MS, MCP_MESSAGE_MAX_BYTES } from '../../core/limits.ts'

/** `onFault` is told why an answer is not read to its end: the client would wait for it. */
export function boundedFetch(onFault: (detail: string) => void): typeof fetch {
  return async (input, init = {}) => {
    // The stream of what a server says unasked is optional, and is not read here.
    if ((init.method ?? 'GET') === 'GET') return new Response(null, { status: 405 })
    // The end of a connection is told without a signal.
    const signal = init.method === 'DELETE' ? AbortSignal.timeout(MCP_CLOSE_MS) : (init.signal ?? null)
    const response = await fetch(input, { ...init, signal })
    const { status, statusText, headers, body } = response
    if (body === null) return response
    return new Response(body.pipeThrough(limited(onFault)), { status, statusText, headers })
  }
}

function limited(onFault: (detail: string) => void): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > MCP_MESSAGE_MAX_BYTES) {
        onFault(`it sent more than ${MCP_MESSAGE_MAX_BYTES} bytes`)
        controller.terminate()
        return
      }
      controller.enqueue(chunk)
    },
  })
}
