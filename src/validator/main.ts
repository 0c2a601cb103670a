/**
 * The validator of a reality check, a program of its own: built to dist/validator/main.js, started by the host in a container that joins the
 * network namespace of the software. It observes over JSON-RPC lines on stdio, opens no port, and never judges.
 */
import { rmSync } from 'node:fs'
import { Peer } from '../core/rpc/peer.ts'
import { BrowserCalls } from './browser/browser.ts'
import { observeHttp, probe } from './http.ts'
import { listening } from './listening.ts'
import { Stdio } from './stdio.ts'

const browser = new BrowserCalls()
const peer = new Peer(new Stdio())
peer.handle('listening', listening)
peer.handle('http', observeHttp)
peer.handle('probe', probe)
for (const [method, answer] of Object.entries(browser.calls())) peer.handle(method, answer)

const leave = () => {
  browser.end()
  rmSync(browser.directory, { recursive: true, force: true, maxRetries: 3 })
  process.exit(0)
}
for (const event of ['end', 'close', 'error']) process.stdin.once(event, leave)
process.stdout.once('error', leave)
process.once('SIGTERM', leave)
// A page can make Playwright fail where no call waits: the next call tells it.
process.on('unhandledRejection', (error) => process.stderr.write(`${String(error).slice(0, 500)}\n`))
