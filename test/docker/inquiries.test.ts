/** A resolver with a container is asked for its form in a container: no network, no secrets, nothing of any instance; warm for a while. */
import { chmodSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Inquiries } from '../../src/core/host/inquiry/inquiries.ts'
import type { CatalogEntry } from '../../src/core/protocol/catalog.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

let home: string
beforeAll(() => {
  home = temporaryHome()
})

/** A resolver whose form says what it sees, as the labels of its fields. */
function entryOf(seen: string, manifest: Record<string, unknown> = {}): CatalogEntry {
  const setup = `me.on['resolver.getInstantiationSchema'] = ({ params }) => { const seen = ${seen}; return { type: 'form', components: [{ type: 'text', id: 'seen', label: JSON.stringify(seen) }] } }`
  const { dir, name } = plainResolver('', { container: {}, ...manifest }, setup)
  chmodSync(dir, 0o755)
  const whole = {
    name,
    version: '1.0.0',
    description: 'A resolver',
    command: ['node', 'program.mjs'],
    container: {},
    ...manifest,
  }
  return { name, version: '1.0.0', dir, commit: null, manifest: whole } as unknown as CatalogEntry
}

async function seenBy(inquiries: Inquiries, entry: CatalogEntry, params = {}): Promise<unknown> {
  const form = await inquiries.ask(entry, 'docker', (inquiry) => inquiry.form(params))
  return JSON.parse((form as unknown as { components: { label: string }[] }).components[0]?.label as string)
}

async function warm(): Promise<string[]> {
  const label = ['--filter', `label=resolve.home=${homeLabel(home)}`, '--filter', 'label=resolve.role=inquiry']
  return (await docker('ps', '-aq', '--no-trunc', ...label)).split('\n').filter(Boolean)
}

/** Waits for the engine to remove what has ended. */
async function warmEnds(): Promise<string[]> {
  for (let tries = 0; tries < 100 && (await warm()).length > 0; tries += 1) await sleep(50)
  return await warm()
}

describeWithDocker('questions to a resolver in a container', { timeout: 60_000 }, () => {
  afterAll(() => removeContainersOf(home))

  test('an inquiry runs without network, secrets, project and capabilities', async () => {
    process.env['RESOLVE_LLM_PROVIDER_API_KEY'] = 'canary-secret'
    const inquiries = new Inquiries(home)
    const seen = (await seenBy(
      inquiries,
      entryOf(
        `{ env: process.env, net: fs.readdirSync('/sys/class/net'), root: fs.readdirSync('/'), uid: process.getuid(), status: fs.readFileSync('/proc/self/status', 'utf8') }`,
      ),
    )) as { env: Record<string, string>; net: string[]; root: string[]; uid: number; status: string }
    delete process.env['RESOLVE_LLM_PROVIDER_API_KEY']
    expect(seen.net.filter((name) => !/^(lo|sit|tunl|ip6tnl|gre|erspan|dummy|bond)/.test(name))).toEqual([])
    expect(seen.root).not.toContain('project')
    expect(seen.uid).toBe(1000)
    expect(seen.status).toMatch(/CapEff:\s*0+\n/)
    expect(JSON.stringify(seen.env)).not.toContain('canary')
    expect(seen.env['RESOLVE_DIR']).toBeUndefined()
    await inquiries.close()
    expect(await warm()).toEqual([])
  })

  test('the next inquiry uses the same container, several share it, and it is removed at the end', async () => {
    const inquiries = new Inquiries(home)
    const entry = entryOf(`{ pid: process.pid, started: (globalThis.started ??= Math.random()), params }`)
    const first = (await seenBy(inquiries, entry)) as { started: number }
    const others = await Promise.all([1, 2, 3].map((n) => seenBy(inquiries, entry, { n })))
    expect(others).toEqual([1, 2, 3].map((n) => ({ pid: expect.any(Number), started: first.started, params: { n } })))
    expect(await warm()).toHaveLength(1)
    await inquiries.close()
    expect(await warm()).toEqual([])
  })

  test('an inquiry container ends when the process that asked is killed', async () => {
    const { spawn } = await import('node:child_process')
    const entry = entryOf(`{}`)
    const code = `import { Inquiries } from './src/core/host/inquiry/inquiries.ts'
      const entry = JSON.parse(process.argv[1]); const inquiries = new Inquiries(process.argv[2])
      await inquiries.ask(entry, 'docker', (inquiry) => inquiry.form({})); console.log('asked'); setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code, JSON.stringify(entry), home])
    await new Promise((resolve) => child.stdout.once('data', resolve))
    expect(await warm()).toHaveLength(1)
    child.kill('SIGKILL')
    expect(await warmEnds()).toEqual([])
  })

  test('a resolver that exits instead of answering is reported with its stderr, and started again for the next inquiry', async () => {
    const inquiries = new Inquiries(home)
    const entry = entryOf(`(() => { console.error('Error: no answer today'); process.exit(1) })()`)
    for (let times = 0; times < 2; times += 1) {
      await expect(seenBy(inquiries, entry)).rejects.toMatchObject({
        code: 'resolver_gone',
        message: expect.stringContaining('no answer today'),
      })
    }
    await inquiries.close()
    expect(await warmEnds()).toEqual([])
  })

  test('an inquiry that ends its resolver does not fail the others', async () => {
    const inquiries = new Inquiries(home)
    const pause = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)'
    const entry = entryOf(`(${pause}, params.dies && process.exit(1), params)`)
    await seenBy(inquiries, entry)
    const asked = [{ n: 1 }, { dies: true }, { n: 2 }].map((params) => seenBy(inquiries, entry, params))
    expect(await Promise.allSettled(asked)).toEqual([
      { status: 'fulfilled', value: { n: 1 } },
      { status: 'rejected', reason: expect.objectContaining({ code: 'resolver_gone' }) },
      { status: 'fulfilled', value: { n: 2 } },
    ])
    await inquiries.close()
    expect(await warmEnds()).toEqual([])
  })

  test('the setup of the manifest is done before an inquiry', async () => {
    const inquiries = new Inquiries(home)
    const container = { setup_commands: ['echo ready > /opt/asked'] }
    const seen = await seenBy(inquiries, entryOf(`fs.readFileSync('/opt/asked', 'utf8')`, { container }))
    expect(seen).toBe('ready\n')
    await inquiries.close()
  })
})
