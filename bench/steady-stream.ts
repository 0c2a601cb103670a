/**
 * What a resolver of the bench runs to emit at a steady rate, as text: {@link file://./stream-server.ts} gives it to a resolver,
 * {@link file://./latency-bare.ts} to a bare process. In reach: `fs`, `sleep`, `root`, `me.config`.
 */

/** Each event carries when it was emitted, by a clock that all processes of the machine share. */
export const EVENT_LINE = `
  const now = () => performance.timeOrigin + performance.now()
  const line = (n) => JSON.stringify({ schema_version: 1, event_type: 'plain.tick', instance_id: me.config.instance_id,
    data: { n, at: now(), pad: 'x'.repeat(200) }, timestamp: new Date().toISOString() }) + '\\n'`

export function steadyStream(rate: number, seconds: number): string {
  return `
  const begin = now()
  for (let n = 1; n <= ${rate * seconds}; n += 1) {
    const wait = begin + n * ${1_000 / rate} - now()
    if (wait > 0.5) await sleep(wait)
    fs.appendFileSync(root + '/events.jsonl', line(n))
  }`
}
