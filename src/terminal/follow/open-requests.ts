/** The open input requests of an instance. If its host is gone, a new host adopts it first and reads requests made meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { InputRequest, Platform } from '../../core/index.ts'

const LOOK_MS = 100
/** An adopting host reads input requests as soon as it is connected to the worker. */
const LIMIT_MS = 3_000

export async function openRequests(platform: Platform, id: string): Promise<InputRequest[]> {
  const known = await platform.inputRequests(id, 'pending')
  if (known.length > 0 || !(await isUp(platform, id)) || (await platform.hasHost(id))) return known
  await platform.ensureHost(id)
  for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(LOOK_MS)) {
    const open = await platform.inputRequests(id, 'pending')
    if (open.length > 0 || !(await isUp(platform, id))) return open
  }
  return []
}

async function isUp(platform: Platform, id: string): Promise<boolean> {
  const { status } = await platform.record(id)
  return status === 'running' || status === 'awaiting_input'
}
