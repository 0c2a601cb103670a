/** A process that answered a question is asked again for some seconds: never after a change of the resolver's files, and it never stays behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { identify } from '../../src/core/files/process-identity.ts'
import { Inquiries } from '../../src/core/host/inquiry/inquiries.ts'
import type { Inquiry } from '../../src/core/host/inquiry/inquiry.ts'
import type { CatalogEntry } from '../../src/core/protocol/catalog.ts'
import { scanProcesses } from '../../src/core/worker/local/process-table.ts'
import { root } from '../house/source-files.ts'
import { created, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

/** Its form names its process. */
const TELLS_ITS_PID = `me.on['resolver.getInstantiationSchema'] = () =>
  ({ type: 'form', components: [{ type: 'text', id: 'p' + process.pid }] })`

let inquiries: Inquiries
let home: string
const directories: string[] = []

beforeEach(() => {
  home = temporaryHome()
  inquiries = new Inquiries(home)
})

afterEach(async () => {
  await inquiries.close()
  for (const dir of directories.splice(0)) rmSync(dir, { recursive: true })
})

function entryOf(setup = TELLS_ITS_PID): CatalogEntry {
  const { dir, name } = plainResolver('', {}, setup)
  directories.push(dir)
  const manifest = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'))
  return { name, dir, commit: null, manifest } as unknown as CatalogEntry
}

const pidOf = async (inquiry: Inquiry) => Number((await inquiry.form({}))?.components[0]?.id.slice(1))
const ask = (entry: CatalogEntry) => inquiries.ask(entry, 'local', pidOf)

/** A zombie counts as ended. */
const isRunning = (pid: number) => identify(pid) !== undefined

test('the next inquiry goes to the same process, which ends when the platform closes', async () => {
  const entry = entryOf()
  const pid = await ask(entry)
  expect(await ask(entry)).toBe(pid)
  await inquiries.close()
  await expect.poll(() => isRunning(pid)).toBe(false)
})

test('after a change of any file of the resolver the next inquiry starts a new process, and the old one ends', async () => {
  const entry = entryOf()
  const first = await ask(entry)
  writeFileSync(join(entry.dir, 'words.json'), '{}')
  const second = await ask(entry)
  expect(second).not.toBe(first)
  // The same length, in the same moment.
  writeFileSync(join(entry.dir, 'words.json'), '[]')
  expect(await ask(entry)).not.toBe(second)
  await expect.poll(() => isRunning(first) || isRunning(second)).toBe(false)
})

test('after a change in a linked directory the next inquiry starts a new process', async () => {
  const entry = entryOf()
  const shared = join(home, 'shared')
  mkdirSync(join(shared, 'inner'), { recursive: true })
  writeFileSync(join(shared, 'inner', 'words.json'), '{}')
  symlinkSync(shared, join(entry.dir, 'lib'))
  // A circle is no reason to look for ever.
  symlinkSync('..', join(shared, 'inner', 'up'))
  const first = await ask(entry)
  expect(await ask(entry)).toBe(first)
  writeFileSync(join(shared, 'inner', 'words.json'), '[]')
  expect(await ask(entry)).not.toBe(first)
})

test('a process that ended after its answer is replaced for the next inquiry', async () => {
  const entry = entryOf(`${TELLS_ITS_PID}
    const answer = me.on['resolver.getInstantiationSchema']
    me.on['resolver.getInstantiationSchema'] = () => { setTimeout(() => process.exit(0), 30); return answer() }`)
  const first = await ask(entry)
  await expect.poll(() => isRunning(first)).toBe(false)
  expect(await ask(entry)).not.toBe(first)
})

test('simultaneous inquiries are answered by one process', async () => {
  const entry = entryOf()
  const pids = await Promise.all(Array.from({ length: 8 }, () => ask(entry)))
  expect(new Set(pids).size).toBe(1)
})

test('an inquiry that ends the process does not cost the other callers their answer', async () => {
  const entry = entryOf(`me.on['resolver.getInstantiationSchema'] = ({ params }) => {
    if (params.ends) process.exit(1)
    return { type: 'form', components: [{ type: 'text', id: 'p' + process.pid }] }
  }`)
  const askWith = (params: Record<string, boolean>) =>
    inquiries.ask(entry, 'local', async (inquiry) => (await inquiry.form(params))?.components[0]?.id)
  const [ended, answered] = await Promise.allSettled([askWith({ ends: true }), askWith({})])
  expect(ended).toMatchObject({ status: 'rejected', reason: { code: 'resolver_gone' } })
  expect(answered).toMatchObject({ status: 'fulfilled' })
  expect(await askWith({})).toMatch(/^p\d+$/)
})

test('one inquiry gives the go-ahead: the failing checks of its form, or the workspace spec', async () => {
  const entry = entryOf(`let asked = []
    me.on['resolver.getInstantiationSchema'] = ({ params }) => { asked.push('form'); return { type: 'form', components: [{ type: 'text', id: 'name',
      checks: [{ condition: { call: 'required', args: [{ path: '/name' }] }, message: 'Say a name.' }] }] } }
    me.on['resolver.getWorkspaceSpec'] = (params) => { asked.push('spec'); return { asked, ...params } }`)
  const admit = (input: Record<string, unknown>) =>
    inquiries.ask(entry, 'local', (inquiry) => inquiry.admit(input as never, ['git_host_token']))
  await expect(admit({})).rejects.toMatchObject({ code: 'form_invalid', errors: ['Say a name.'] })
  // What is refused is not asked for its spec; and an earlier answer is not taken for one to this question.
  const { spec, split } = await admit({ name: 'Ada' })
  expect(split).toEqual({ open: { name: 'Ada' }, secret: null })
  expect(spec).toEqual({
    asked: ['form', 'form', 'spec'],
    params: { name: 'Ada' },
    available_credentials: ['git_host_token'],
  })
})

test('child processes that a resolver started during an inquiry are ended', async () => {
  const entry = entryOf(`const { spawn } = await import('node:child_process')
    me.on['resolver.getInstantiationSchema'] = () => {
      const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
      return { type: 'form', components: 'p' + child.pid }
    }`)
  const heard = inquiries.ask(entry, 'local', async (inquiry) => await inquiry.form({}))
  await expect(heard).rejects.toMatchObject({ code: 'form_malformed' })
  const pids = [...scanProcesses().marked]
    .flatMap(([mark, pids]) => (mark.startsWith('RESOLVE_INQUIRY=') ? pids : []))
    .filter(isOfHere)
  expect(pids.length).toBeGreaterThan(1)
  await inquiries.close()
  await expect.poll(() => pids.filter(isRunning)).toEqual([])
})

/** Other tests ask too. */
function isOfHere(pid: number): boolean {
  try {
    return directories.includes(readlinkSync(`/proc/${pid}/cwd`))
  } catch {
    return false
  }
}

test('an inquiry of a host without free file descriptors fails with that reason, and works again later', async () => {
  const program = `
    const { openSync, closeSync } = await import('node:fs')
    const { Inquiries } = await import(${JSON.stringify(join(root, 'src/core/host/inquiry/inquiries.ts'))})
    const entry = JSON.parse(process.argv[1])
    const inquiries = new Inquiries(process.argv[2])
    const ask = () => inquiries.ask(entry, 'local', (inquiry) => inquiry.form({}))
    await ask()
    await inquiries.close()
    const opened = []
    try { for (;;) opened.push(openSync('/dev/null')) } catch {}
    const code = await ask().then(() => 'asked', (error) => error.code ?? String(error))
    for (const fd of opened) closeSync(fd)
    console.log(code, (await ask()).type)
    await inquiries.close()`
  const words = [process.execPath, '--input-type=module', '-e', program, JSON.stringify(entryOf()), home]
  const host = spawn('/bin/sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = (await once(host.stdout, 'data')) as [Buffer]
  expect(text.toString()).toBe('launch_failed form\n')
})

test('the warm inquiry process ends when its host is killed', async () => {
  const entry = entryOf()
  const program = `
    const { Inquiries } = await import(${JSON.stringify(join(root, 'src/core/host/inquiry/inquiries.ts'))})
    const entry = JSON.parse(process.argv[1])
    const form = await new Inquiries(process.argv[2]).ask(entry, 'local', (inquiry) => inquiry.form({}))
    console.log(form.components[0].id.slice(1))
    setInterval(() => {}, 1000)`
  const host = spawn(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(entry), home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = (await once(host.stdout, 'data')) as [Buffer]
  const pid = Number(text.toString())
  expect(isRunning(pid)).toBe(true)
  await sleep(50)
  host.kill('SIGKILL')
  await expect.poll(() => isRunning(pid)).toBe(false)
})

/** Of a host that was killed: a process that ignores the end of its input. */
async function abandonedInquiry(): Promise<number> {
  // Any host of this process may sweep it at once, so it leaves a word that it ignored the end.
  const word = join(mkdtempSync(join(tmpdir(), 'resolve-abandoned-')), 'ignored')
  const entry = entryOf(`${TELLS_ITS_PID}
    process.stdin.on('end', () => { fs.writeFileSync(${JSON.stringify(word)}, ''); setInterval(() => {}, 1000) })`)
  const program = `
    const { Inquiries } = await import(${JSON.stringify(join(root, 'src/core/host/inquiry/inquiries.ts'))})
    const form = await new Inquiries(process.argv[2]).ask(JSON.parse(process.argv[1]), 'local', (inquiry) => inquiry.form({}))
    console.log(form.components[0].id.slice(1))
    setInterval(() => {}, 1000)`
  const host = spawn(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(entry), home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = (await once(host.stdout, 'data')) as [Buffer]
  host.kill('SIGKILL')
  await once(host, 'exit')
  // Or it was ended before it could: any process of this machine that makes an inquiry or begins to host looks for such.
  const pid = Number(text.toString())
  await expect.poll(() => existsSync(word) || !isRunning(pid)).toBe(true)
  return pid
}

test('a resolver that ignores the end of its input is ended by the next host that makes an inquiry', async () => {
  const own = await ask(entryOf())
  const abandoned = await abandonedInquiry()
  const another = new Inquiries(home)
  const third = await another.ask(entryOf(), 'local', pidOf)
  await another.close()
  await expect.poll(() => [abandoned, third].filter(isRunning)).toEqual([])
  // That of a host that lives is not touched.
  expect(isRunning(own)).toBe(true)
})

test('a resolver that ignores the end of its input is ended by the next host, which makes no inquiry', async () => {
  const id = await created(home, plainResolver(`await me.ask('q', 'Go on?')`))
  const own = await ask(entryOf())
  const abandoned = await abandonedInquiry()
  const platform = await platformOn(home)
  await platform.host(id)
  await expect.poll(() => isRunning(abandoned)).toBe(false)
  expect(isRunning(own)).toBe(true)
  await platform.stop(id, { reason: 'enough', force: true })
  await platform.close()
})
