/**
 * Blocks this machine's own ports for a worker's network, except for the proxy: even an internal network reaches every port
 * that listens on all addresses of the host (threats WEB-3, D11). Needs root and iptables; without them, {@link
 * file://./network.ts} reports that the network is not guarded.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { EGRESS_PROXY_PORT } from '../../limits.ts'

const execute = promisify(execFile)
const LIMIT_MS = 10_000
/** These directories are not in every user's PATH. */
const PATH = [process.env['PATH'], '/usr/sbin', '/sbin'].filter(Boolean).join(':')
/** Each rule is removed up to this often: a killed host may have added it twice. */
const COPIES_MAX = 8

/** Adds the rules and returns whether they are in place. A second call changes nothing. */
export async function openGuard(bridge: string, gateway: string): Promise<boolean> {
  if (process.getuid?.() !== 0) return false
  try {
    await closeGuard(bridge)
    await close('iptables', bridge)
    await rule('iptables', '-I', opening(bridge, gateway))
  } catch {
    return false
  }
  // Without IPv6 no rules are needed.
  await close('ip6tables', bridge).catch(() => undefined)
  return true
}

/** Removes every rule of the bridge. */
export async function closeGuard(bridge: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  for (const program of ['iptables', 'ip6tables']) {
    for (const found of await rulesAbout(program, bridge)) {
      for (let copy = 0; copy < COPIES_MAX; copy += 1) {
        const isGone = await rule(program, '-D', found).then(
          () => false,
          () => true,
        )
        if (isGone) break
      }
    }
  }
}

/** As iptables prints them, without the chain. */
async function rulesAbout(program: string, bridge: string): Promise<string[][]> {
  try {
    const { stdout } = await run(program, ['-w', '5', '-S', 'INPUT'])
    const lines = stdout.split('\n').filter((line) => line.includes(` -i ${bridge} `))
    return lines.map((line) => line.trim().split(' ').slice(2))
  } catch {
    return []
  }
}

/** Rejects where the kernel can, so that a connection attempt fails at once instead of timing out. */
async function close(program: string, bridge: string): Promise<void> {
  const all = ['-i', bridge, '-j']
  await rule(program, '-I', [...all, 'REJECT']).catch(() => rule(program, '-I', [...all, 'DROP']))
}

function opening(bridge: string, gateway: string): string[] {
  return ['-i', bridge, '-d', gateway, '-p', 'tcp', '--dport', String(EGRESS_PROXY_PORT), '-j', 'ACCEPT']
}

async function rule(program: string, how: '-I' | '-D', words: readonly string[]): Promise<void> {
  await run(program, ['-w', '5', how, 'INPUT', ...words])
}

async function run(program: string, words: readonly string[]): Promise<{ stdout: string }> {
  return await execute(program, [...words], { timeout: LIMIT_MS, env: { ...process.env, PATH } })
}
