/** Completion: what `resolve __complete` suggests, and the scripts in real shells: bash, fish, and zsh on a real terminal. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { openTerminal, skipsTmux, type Terminal } from '../support/tmux-terminal.ts'
import { COMPLETION_LIMIT_MS, doer, type Home, inTime, newHome } from './cli.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
const folder = mkdtempSync(join(tmpdir(), 'resolve-completion-'))
let place: Home
let asks = ''
let ended = ''

beforeAll(async () => {
  place = newHome()
  writeFileSync(join(folder, 'resolve'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  chmodSync(join(folder, 'resolve'), 0o755)
  writeFileSync(join(folder, 'answers file.json'), '{}')
  const types = "{ name: 'note', label: 'Note', description: 'A word' }, { name: '$(touch owned)', label: 'x' }"
  const talker = plainResolver(
    'await me.stopped; me.finish({ status: "cancelled" })',
    { name: 'talker' },
    `me.on['resolver.getMessageTypes'] = () => [${types}].map((one) => ({ description: '', schema: { type: 'form', components: [] }, ...one }))`,
  )
  for (const dir of [doer(), talker.dir]) expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  const made = async (what: string) => {
    const { stdout } = await place.run('run', 'doer', '-i', `do=${what}`, '--json', '--name', `it ${what}s`)
    return (JSON.parse(stdout) as { instance_id: string }).instance_id
  }
  ended = await made('work')
  asks = await made('ask')
})

afterAll(async () => {
  rmSync(folder, { recursive: true })
  await place.end()
})

async function suggested(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await inTime(() => place.run('__complete', '--', ...words))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.split('\n').filter((line) => line !== '')
}

/** What a whole shell offers; again where its suggestions came late. */
function pressed(offered: () => string[]): string[] {
  for (;;) {
    const began = performance.now()
    const words = offered()
    if (words.length > 0 || performance.now() - began < COMPLETION_LIMIT_MS) return words
  }
}

const wordsOf = (lines: string[]) => lines.map((line) => line.split('\t')[0])

test('it suggests commands and verbs with their descriptions', async () => {
  expect(wordsOf(await suggested('ins'))).toEqual(['instance'])
  expect(await suggested('instance', 'an')).toEqual(['answer\tAnswer a question of an instance'])
  expect(wordsOf(await suggested('--json', 'resolver', ''))).toEqual([
    'add',
    'list',
    'show',
    'schema',
    'update',
    'remove',
  ])
  expect(wordsOf(await suggested(''))).toEqual(
    expect.arrayContaining(['instance', 'resolver', 'inbox', 'doctor', 'run', 'help']),
  )
})

test('it suggests flags that were not given yet, and their values', async () => {
  expect(wordsOf(await suggested('run', '--on'))).toEqual(['--on-input'])
  expect(wordsOf(await suggested('run', '--detach', '--de'))).toEqual(['--debug'])
  expect(wordsOf(await suggested('run', '--on-input', 'p'))).toEqual(['prompt'])
  expect(wordsOf(await suggested('instance', 'list', '--status', 'c'))).toEqual(['created', 'completed', 'cancelled'])
  expect(wordsOf(await suggested('instance', 'list', '--status=f'))).toEqual(['--status=failed'])
  expect(wordsOf(await suggested('instance', 'list', '--status', '=', 'f'))).toEqual(['failed'])
  expect(wordsOf(await suggested('instance', 'prune', '--status', ''))).toEqual(['completed', 'failed', 'cancelled'])
  expect(wordsOf(await suggested('instance', 'list', '--resolver', 'do'))).toEqual(['doer'])
  expect(await suggested('run', 'doer', '--name', '')).toEqual([])
  expect(await suggested('run', 'doer', '--answers', '')).toEqual([':files'])
})

test('it suggests resolvers, instances with status and resolver, open questions, topics and shells', async () => {
  expect(wordsOf(await suggested('run', ''))).toEqual([
    'agent',
    'change',
    'doer',
    'hello',
    'pipeline',
    'reality-check',
    'talker',
    'tour',
  ])
  const [last] = await suggested('instance', 'show', asks)
  expect(last).toMatch(new RegExp(`^${asks}\t.* doer \\(it asks\\)`))
  expect(wordsOf(await suggested('instance', 'answer', ''))).toEqual([asks, '@last'])
  expect(wordsOf(await suggested('instance', 'show', ''))).toEqual([asks, ended, '@last'])
  expect(await suggested('instance', 'answer', asks, '')).toEqual(['gate-1\tGo on?'])
  expect(wordsOf(await suggested('help', 'e'))).toEqual(['exit-codes', 'environment'])
  expect(wordsOf(await suggested('completion', ''))).toEqual(['bash', 'zsh', 'fish'])
})

test('it suggests the fields of a form that are not given yet, and the values of a select or checkbox', async () => {
  expect(wordsOf(await suggested('run', 'doer', '-i', ''))).toEqual(['do=', 'count=', 'loud='])
  expect(wordsOf(await suggested('run', 'doer', '-i', 'do=x', '-i', ''))).toEqual(['count=', 'loud='])
  expect(wordsOf(await suggested('run', 'doer', '--input', 'loud='))).toEqual(['loud=true', 'loud=false'])
  // bash splits the word at the equals sign.
  expect(wordsOf(await suggested('run', 'doer', '-i', 'do', '=', 'x', '-i', 'loud', '=', 't'))).toEqual(['true'])
  expect(wordsOf(await suggested('instance', 'answer', asks, '-i', 'go='))).toEqual(['go=yes', 'go=no'])
  expect(await suggested('run', 'nope', '-i', '')).toEqual([])
})

test('it suggests message types of a live instance, but no word that a shell would execute', async () => {
  const { stdout } = await place.run('run', 'talker', '--detach')
  const id = stdout.trim()
  await expect.poll(async () => await suggested('instance', 'message', id, '')).toEqual(['note\tA word'])
  expect((await place.run('instance', 'stop', id)).code).toBe(0)
  expect(await suggested('instance', 'message', id, '')).toEqual([])
})

test('it prints no error for unknown words, a broken catalog or a missing home', async () => {
  expect(await suggested('frobnicate', '')).toEqual([])
  expect(await suggested('instance', 'answer', 'zzzz', '')).toEqual([])
  expect(await suggested()).not.toEqual([])
  const elsewhere = { env: { RESOLVE_HOME: '/dev/null/home' } }
  expect(await place.with(elsewhere, '__complete', '--', 'run', '')).toEqual({ code: 0, stdout: '', stderr: '' })
})

const environment = (env: Record<string, string> = {}) => ({
  ...{ ...process.env, CI: '', PATH: `${folder}:${process.env['PATH']}`, RESOLVE_HOME: place.home },
  ...env,
})

/** CI brings every shell; elsewhere a machine may lack one, and its test is skipped. */
const lacks = (shell: string) =>
  ['', undefined].includes(process.env['CI']) && spawnSync(shell, ['--version']).status !== 0

/** What bash puts in place of the last word, for a line that is being typed. */
function inBash(line: string, env: Record<string, string> = {}): string[] {
  const script = `
    source <(resolve completion bash)
    COMP_LINE=$1 COMP_POINT=\${#1}
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _resolve_complete
    printf '%s\\n' "\${COMPREPLY[@]}"`
  // As readline breaks a line: at blanks, and at "=".
  const words = line.split(/\s|(=)/).filter((word) => word !== undefined)
  const options = { cwd: folder, encoding: 'utf8', env: environment(env) } as const
  return pressed(() => {
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script, 'bash', line, ...words], options)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout.split('\n').filter((word) => word !== '')
  })
}

test('bash completes with the script it sourced', () => {
  expect(inBash('resolve inst')).toEqual(['instance'])
  expect(inBash('resolve instance list --status=fa')).toEqual(['failed'])
  expect(inBash(`resolve instance answer ${asks} `)).toEqual(['gate-1'])
  expect(inBash('resolve run --answers ans')).toEqual(['answers file.json'])
  expect(inBash('resolve frobnicate ')).toEqual([])
})

/** What fish offers for a line, each as `word TAB description`. */
function inFish(line: string): string[] {
  const script = 'resolve completion fish | source; complete -C "$argv[1]"'
  const options = { cwd: folder, encoding: 'utf8', env: environment({ HOME: folder }) } as const
  return pressed(() => {
    const { stdout, stderr, status } = spawnSync('fish', ['--no-config', '-c', script, line], options)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout.split('\n').filter((word) => word !== '')
  })
}

test.skipIf(lacks('fish'))('fish completes with the script it sourced', () => {
  expect(wordsOf(inFish('resolve inst'))).toEqual(['instance'])
  expect(inFish('resolve instance an')).toEqual(['answer\tAnswer a question of an instance'])
  expect(wordsOf(inFish('resolve instance list --status fa'))).toEqual(['failed'])
  expect(inFish(`resolve instance answer ${asks} `)).toEqual(['gate-1\tGo on?'])
  expect(wordsOf(inFish('resolve run --answers ans'))).toEqual(['answers file.json'])
  expect(inFish('resolve frobnicate ')).toEqual([])
})

describe.skipIf(skipsTmux || lacks('zsh'))('zsh', () => {
  let terminal: Terminal
  const typed = async (line: string, shown: string | RegExp) => {
    terminal.keys('C-u', 'C-l')
    terminal.type(line, false)
    const isShown = () =>
      terminal.until(shown, 2 * COMPLETION_LIMIT_MS).then(
        () => true,
        () => false,
      )
    const press = async () => {
      terminal.keys('Tab')
      return await isShown()
    }
    await expect.poll(press).toBe(true)
  }

  beforeAll(async () => {
    terminal = openTerminal({ env: { ...environment({ HOME: folder }), PS1: '$ ' } })
    terminal.type(`cd '${folder}' && exec zsh -f -i`)
    terminal.type('autoload -U compinit && compinit -u -D && source <(resolve completion zsh); PS1="ready> "')
    await terminal.until(/^ready> /m)
  })

  afterAll(() => terminal.close())

  test('completes the word before the cursor', async () => {
    await typed('resolve inst', /^ready> resolve instance $/m)
    await typed('resolve instance list --status fa', /^ready> resolve instance list --status failed $/m)
    await typed(`resolve instance answer ${asks} `, new RegExp(`^ready> resolve instance answer ${asks} gate-1 $`, 'm'))
    await typed('resolve run --answers ans', /^ready> resolve run --answers answers\\ file\.json $/m)
  })

  test('lists the words with the same beginning and their descriptions', async () => {
    await typed('resolve instance s', /^show +-- Show .*\n(?:.*\n)*?stop +-- Stop /m)
  })
})

test('--json holds the script, and another shell is refused', async () => {
  const { stdout } = await place.run('completion', 'bash', '--json')
  const document = JSON.parse(stdout) as { script: string }
  expect(document).toMatchObject({ schema: 'resolve.completion/1', shell: 'bash' })
  expect(document.script).toBe((await place.run('completion', 'bash')).stdout)
  expect((await place.run('completion', 'tcsh')).code).toBe(2)
})
