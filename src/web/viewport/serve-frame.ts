/**
 * Performs the calls of a viewport, only on its own instance: it reads with a token of that instance (threats UI-3), and an answer is
 * sent only after the person agreed. bridge.ts lists the calls.
 */
import { answer, fetchData, fetchViewportToken, sendMessage } from '../api/calls.ts'
import { isRefusedToken, sentenceOf } from '../api/problem.ts'
import { FILE_MAX_BYTES, type FromFrame, type ToFrame } from './bridge.ts'

type Call = Extract<FromFrame, { call: number }>
export type ProposedAnswer = Extract<FromFrame, { type: 'respond' }>

/** Shows the answer to the person. Resolves to whether it may be sent. */
export type Agree = (proposed: ProposedAnswer) => Promise<boolean>

export type ServeFrame = (asked: Call) => Promise<ToFrame>

export function frameServer(id: string, agree: Agree): ServeFrame {
  let token: Promise<string> | undefined

  async function read(path: string): Promise<Response> {
    token ??= fetchViewportToken(id)
    const used = token
    try {
      return await fetchData(id, path, { token: await used })
    } catch (error) {
      if (token === used) token = undefined
      if (!isRefusedToken(error)) throw error
      // It has expired, or the server was started anew.
      token ??= fetchViewportToken(id)
      return await fetchData(id, path, { token: await token })
    }
  }

  return async (asked) => {
    const { call } = asked
    try {
      if (asked.type === 'fetchData') return await toFile(await read(asked.path), call)
      if (asked.type === 'sendMessage') await sendMessage(id, asked.message_type, asked.payload, 'viewport')
      else if (await agree(asked)) await answer(id, asked.request, asked.payload, 'viewport')
      else return { type: 'refused', call, message: 'The person did not agree to this answer.' }
      return { type: 'done', call }
    } catch (error) {
      return { type: 'refused', call, message: sentenceOf(error) }
    }
  }
}

async function toFile(response: Response, call: number): Promise<ToFrame> {
  if (Number(response.headers.get('content-length')) > FILE_MAX_BYTES) {
    await response.body?.cancel()
    return { type: 'refused', call, message: `The file is larger than ${FILE_MAX_BYTES} bytes.` }
  }
  const contentType = response.headers.get('content-type') ?? 'application/octet-stream'
  return { type: 'file', call, status: response.status, contentType, bytes: await response.arrayBuffer() }
}
