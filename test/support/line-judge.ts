/**
 * Judges a line of a worker's events file for the checker of I1. Written from docs/events.md and docs/decisions/0002-hosting.md, on its
 * own: it shares no code with the host's judge, so a mistake there is found.
 */

const MAX_BYTES = 1_048_576
const MAX_DEPTH = 64

/** Whether the host has to carry the line over. `bytes` are without the LF. */
export function belongsInJournal(bytes: Buffer, instanceId: string): boolean {
  if (bytes.length === 0 || bytes.length > MAX_BYTES) return false
  const value = parse(bytes)
  if (value === undefined || value['type'] === 'done' || value['event_type'] === 'done') return false
  const { schema_version: version, event_type: type, instance_id: instance, data } = value
  if (version !== 1 || instance !== instanceId) return false
  if (typeof type !== 'string' || type.length === 0 || type.split('.')[0] === 'platform') {
    // "platform" alone has no dot behind it, and is the resolver's own.
    if (type !== 'platform') return false
  }
  return isRecord(data) && depthOf(value) <= MAX_DEPTH
}

function parse(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    // A byte order mark is no JSON.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** ISO-8601 with seconds and a zone, of a moment that exists. A line with another timestamp gets the time of its host (R14). */
export function isInstant(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const [date = '', time = '', ...more] = value.split('T')
  if (more.length > 0 || !/^[0-9]{4}(-[0-9]{2}){2}$/.test(date)) return false
  if (!/^[0-9]{2}(:[0-9]{2}){2}([.][0-9]{1,12})?(Z|[-+][0-9]{2}:?[0-9]{2})$/.test(time)) return false
  return Number.isFinite(new Date(value).getTime())
}

/** Level by level, without recursion. */
function depthOf(value: unknown): number {
  let depth = 0
  for (let level = [value].filter(isContainer); level.length > 0; depth += 1) {
    level = level.flatMap((one) => Object.values(one)).filter(isContainer)
  }
  return depth
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return isContainer(value) && !Array.isArray(value)
}
