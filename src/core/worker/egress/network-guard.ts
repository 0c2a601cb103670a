/**
 * Closes this machine to a worker's own network, but for the proxy: an internal network still reaches whatever listens on all addresses
 * of the host (threats WEB-3, D11). Needs root and iptables; where they are missing, {@link file://./network.ts} says that nothing guards.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { EGRESS_PROXY_PORT } from '../../limits.ts'

const execute = promisify(execFile)
const LIMIT_MS = 10_000
/** Where they lie is not in the PATH of everyone who may run them. */
const PATH = [process.env['PATH'], '/usr/sbin', '/sbin'].filter(Boolean).join(':')
/** How often a rule may be there: a killed host could have left it twice. */
const COPIES_MAX = 8

/** Whether the guard stands. Called again, it changes nothing. */
export async function openGuard(bridge: string, gateway: string): Promise<boolean> {
  if (process.getuid?.() !== 0) return false
  try {
    await closeGuard(bridge)
    await close('iptables', bridge)
    await rule('iptables', '-I', opening(bridge, gateway))
  } catch {
    return false
  }
  // Where there is no IPv6 there is nothing to close.
  await close('ip6tables', bridge).catch(() => undefined)
  return true
}

/** Takes away every rule about the bridge. */
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

/** As iptables writes them down, without the chain. */
async function rulesAbout(program: string, bridge: string): Promise<string[][]> {
  try {
    const { stdout } = await run(program, ['-w', '5', '-S', 'INPUT'])
    const lines = stdout.split('\n').filter((line) => line.includes(` -i ${bridge} `))
    return lines.map((line) => line.trim().split(' ').slice(2))
  } catch {
    return []
  }
}

/** A refusal is answered where the kernel can: a program that tries fails at once instead of waiting. */
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
