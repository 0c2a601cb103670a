#!/usr/bin/env node
/** Serves the files of a directory at PORT: what starts pages that need no program of their own. Needs Node alone. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize, resolve } from 'node:path'

const root = resolve(process.argv[2] ?? '.')
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
}

createServer(async (request, response) => {
  try {
    const { pathname } = new URL(request.url ?? '/', 'http://host')
    const path = normalize(decodeURIComponent(pathname))
    const file = await firstFile([path, join(path, 'index.html'), `${path}.html`])
    // A page that draws its own addresses has one file for all of them.
    const found = file ?? (extname(path) === '' ? await firstFile(['/index.html']) : undefined)
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('There is no such file.\n')
      return
    }
    response.writeHead(200, { 'content-type': TYPES[extname(found).toLowerCase()] ?? 'application/octet-stream' })
    createReadStream(found).pipe(response)
  } catch {
    response.writeHead(400, { 'content-type': 'text/plain' }).end('The address is not valid.\n')
  }
}).listen(Number(process.env.PORT ?? 8080))

async function firstFile(paths) {
  for (const path of paths) {
    const whole = join(root, normalize(`/${path}`))
    const found = await stat(whole).catch(() => undefined)
    if (found?.isFile()) return whole
  }
  return undefined
}
