/**
 * Source text of a program that emits at a steady rate: {@link file://./stream-server.ts} runs it in a resolver, {@link
 * file://./latency-bare.ts} in a bare process. It may use `fs`, `sleep`, `root`, `me.config`.
 */

/** Each event carries its time, by a clock that all processes of the machine share. */
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
