/** A server in a process of its own, to be killed: `node serve-program.ts HOME PORT` prints its address and a token. */
import { serve } from './served.ts'

const [home = '', port = '0'] = process.argv.slice(2)
const served = await serve(home, Number(port))
process.stdout.write(`${JSON.stringify({ url: served.url, port: served.port, token: await served.token() })}\n`)
