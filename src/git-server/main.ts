/**
 * The git server of an instance, a program of its own: built to dist/git-server.js, started by the host as a detached process or in a
 * container. It holds the repositories of one instance for its worker; upstream's token never reaches it.
 */
import { existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { GIT_SERVER_LOOK_MS } from '../core/limits.ts'
import { openGitServer } from './git-server.ts'

const USAGE = `Usage: node git-server.js --state DIR [--repos DIR] [--listen HOST:PORT] [--base-url URL]

Serves the bare repositories in --repos (default: "repos" in --state) by git over HTTP, with a part of Gitea's REST API.
--state holds tokens.json ({"sha256": [...]}), pulls.jsonl and the host's socket.
`

const { values } = parseArgs({
  options: {
    state: { type: 'string' },
    repos: { type: 'string' },
    listen: { type: 'string', default: '127.0.0.1:0' },
    'base-url': { type: 'string' },
  },
})
const [, host = '', port = ''] = /^(.+):(\d+)$/.exec(values.listen) ?? []
if (values.state === undefined || host === '') {
  process.stderr.write(USAGE)
  process.exit(2)
}

// It outlives the host that started it, and the terminal of that host.
process.on('SIGHUP', () => {})
process.on('SIGINT', () => {})
process.umask(0o077)

// As /proc names the directory of a process: without links.
const state = realpathSync(values.state)
const server = await openGitServer({
  state,
  repos: resolve(values.repos ?? `${state}/repos`),
  host,
  port: Number(port),
  baseUrl: values['base-url'],
})
process.on('SIGTERM', () => void server.close())
// An instance that is removed takes its server with it, also where no host is left to stop it; a host makes a lost directory again.
setInterval(() => {
  if (!existsSync(join(state, 'tokens.json'))) void server.close()
}, GIT_SERVER_LOOK_MS).unref()
process.stdout.write(`${JSON.stringify({ port: server.port, base_url: server.baseUrl })}\n`)
await server.over
process.exit(0)
