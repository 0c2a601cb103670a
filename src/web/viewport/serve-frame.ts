/** Performs the calls of a viewport, only on its own instance. bridge.ts lists the calls. */
import { answer, fetchData, sendMessage } from '../api/calls.ts'
import { sentenceOf } from '../api/problem.ts'
import { FILE_MAX_BYTES, type FromFrame, type ToFrame } from './bridge.ts'

type Call = Extract<FromFrame, { call: number }>

export async function serveFrame(id: string, asked: Call): Promise<ToFrame> {
  const { call } = asked
  try {
    if (asked.type === 'fetchData') return await file(id, asked.path, call)
    if (asked.type === 'sendMessage') await sendMessage(id, asked.message_type, asked.payload)
    else await answer(id, asked.request, asked.payload)
    return { type: 'done', call }
  } catch (error) {
    return { type: 'refused', call, message: sentenceOf(error) }
  }
}

async function file(id: string, path: string, call: number): Promise<ToFrame> {
  const response = await fetchData(id, path)
  if (Number(response.headers.get('content-length')) > FILE_MAX_BYTES) {
    await response.body?.cancel()
    return { type: 'refused', call, message: `The file is larger than ${FILE_MAX_BYTES} bytes.` }
  }
  const contentType = response.headers.get('content-type') ?? 'application/octet-stream'
  return { type: 'file', call, status: response.status, contentType, bytes: await response.arrayBuffer() }
}
