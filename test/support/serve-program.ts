/**
 * A server in a process of its own, to be killed or measured: `node serve-program.ts HOME PORT` prints its address and a token. With a
 * channel to its parent it also says how late its event loop was: `{ begin: NAME }` opens a window, `{ end: NAME }` is answered with it.
 */
import { feelPulse, type Lateness } from './pulse.ts'
import { serve } from './served.ts'

const [home = '', port = '0'] = process.argv.slice(2)
const served = await serve(home, Number(port))
process.stdout.write(`${JSON.stringify({ url: served.url, port: served.port, token: await served.token() })}\n`)

const pulses = new Map<string, () => Lateness>()
process.on('message', ({ begin, end }: { begin?: string; end?: string }) => {
  if (begin !== undefined) pulses.set(begin, feelPulse())
  if (end !== undefined) process.send?.({ end, lateness: pulses.get(end)?.() })
})
process.once('disconnect', () => void served.close().then(() => process.exit()))
