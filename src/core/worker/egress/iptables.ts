/** Calls iptables for the guards of networks: {@link file://./network-guard.ts} and {@link file://./open-guard.ts}. Needs root. */
import { execFile } from 'node:child_process'

export type Program = 'iptables' | 'ip6tables'

const LIMIT_MS = 10_000
/** These directories are not in every user's PATH. */
const PATH = [process.env['PATH'], '/usr/sbin', '/sbin'].filter(Boolean).join(':')
/** The chain that an engine leaves to the operator, and asks before its own. */
export const FORWARDED = 'DOCKER-USER'

const PROGRAMS: readonly Program[] = ['iptables', 'ip6tables']

/** Whether this process may call iptables at all. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Throws where the program is missing or refuses. */
export async function iptables(program: Program, ...words: string[]): Promise<string> {
  return await run(program, ['-w', '5', ...words])
}

/** Applies a text in the form of iptables-save as one change; chains that it does not name stay as they are. */
export async function restore(program: Program, lines: readonly string[]): Promise<void> {
  await run(`${program}-restore`, ['-w', '5', '--noflush'], `${lines.join('\n')}\n`)
}

/** Removes every rule about what comes from the bridge, and the chains of its guard; does nothing where there are none. */
export async function removeGuards(bridge: string): Promise<void> {
  if (isRoot()) await Promise.all(PROGRAMS.map((program) => removeFrom(program, bridge)))
}

async function removeFrom(program: Program, bridge: string): Promise<void> {
  const listed = await iptables(program, '-S').catch(() => '')
  const lines = listed.split('\n').map((line) => line.trim().split(' '))
  // The engine has rules of its own about the bridge in other chains.
  const rules = lines.filter(([add, chain = '', ...rule]) => {
    return add === '-A' && (chain === 'INPUT' || chain === FORWARDED) && rule[rule.indexOf('-i') + 1] === bridge
  })
  const chains = lines.flatMap(([add, chain = '']) => (add === '-N' && isChainOf(bridge, chain) ? [chain] : []))
  const steps = [
    ...rules.map(([, ...rule]) => ['-D', ...rule]),
    // One may lead to the other.
    ...chains.map((chain) => ['-F', chain]),
    ...chains.map((chain) => ['-X', chain]),
  ]
  if (steps.length === 0) return
  const all = ['*filter', ...steps.map((words) => words.join(' ')), 'COMMIT']
  if (await succeeds(restore(program, all))) return
  // Another host removed some of them meanwhile, which makes the whole change fail.
  for (const words of steps) await succeeds(iptables(program, ...words))
}

function isChainOf(bridge: string, chain: string): boolean {
  return chain === `RESOLVE-${bridge}` || chain === `RESOLVE-${bridge}-M`
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  )
}

function run(program: string, words: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: LIMIT_MS, env: { ...process.env, PATH } }
    const child = execFile(program, [...words], options, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(error)
    })
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}
