/** What bundles tell a model, and what hostile ones can't do: they are read as the worker reads them (docs/sessions.md, Bundles). */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BundleEntry } from '../../src/core/protocol/instance.ts'
import type { SessionOptions } from '../../src/sessions/contract/contract.ts'
import { LlmServer } from '../support/llm-server.ts'
import { type Arena, arena } from './arena.ts'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

interface Made extends Partial<BundleEntry> {
  files: Record<string, string>
}

/** An instance whose host fetched these; the name of each is its directory. */
function instanceWith(made: Record<string, Made>): Arena & { placeOf(name: string): string } {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  const placeOf = (name: string) => join(at.config.project_path, 'bundles', name)
  at.config.bundles = Object.entries(made).map(([name, { files, ...more }]) => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(placeOf(name), path)), { recursive: true })
      writeFileSync(join(placeOf(name), path), content)
    }
    return { address: name, name, path: placeOf(name), subdirectory: '', commit: null, included: false, ...more }
  })
  return { ...at, placeOf }
}

/** What the model is sent, with its tools. */
async function sent(at: Arena, options: SessionOptions = {}): Promise<string> {
  llm.script([{ text: 'ok' }])
  await (await at.create('work', options)).run('Go.')
  return JSON.stringify(llm.requests.at(-1)?.body)
}

test('the body of a bundle replaces those that it includes, and context adds up with the files that it names', async () => {
  const at = instanceWith({
    house: {
      files: {
        'bundle.md':
          '---\nbundle: { name: house }\nincludes: [{ bundle: "house:behaviors/calm" }, far]\ncontext: { include: [context/a.md] }\n---\nThe outer body names @house:context/b.md, not `@house:context/c.md`.',
        'behaviors/calm.md':
          '---\nbundle: { name: calm }\ncontext: { include: [house:context/d.md] }\n---\nThe inner body.',
        'context/a.md': 'Context A, with @house:context/e.md.',
        'context/b.md': 'Context B.',
        'context/c.md': 'Context C.',
        'context/d.md': 'Context D.',
        'context/e.md': 'Context E.',
      },
    },
    far: {
      included: true,
      files: { 'bundle.yaml': 'bundle: { name: far }\ncontext: { include: [far:x.md] }\n', 'x.md': 'From far.' },
    },
  })
  const text = await sent(at, { instructions: 'The resolver itself.' })
  const parts = [
    'The outer body',
    'Context D.',
    'From far.',
    'Context A',
    'Context E.',
    'Context B.',
    'The resolver itself.',
  ]
  const places = parts.map((part) => text.indexOf(part))
  expect(places.every((place) => place > 0)).toBe(true)
  expect([...places]).toEqual(places.toSorted((a, b) => a - b))
  expect([text.includes('The inner body'), text.includes('Context C.')]).toEqual([false, false])
  expect(await sent(at, { bundles: false })).not.toContain('outer body')
})

test('a link out of a bundle is not followed, nor a path, and no file that is none is opened', async () => {
  const at = instanceWith({
    evil: {
      files: {
        'bundle.md':
          '---\nbundle: { name: evil }\nincludes: ["./../../.resolve/secret.md"]\ncontext: { include: [link.md, ../../.resolve/secret.md, fifo.md, "evil:../../.resolve/secret.md"] }\nagents: { include: ["evil:../../../.resolve/secret"] }\n---\nSee @evil:link.md and @evil:../../.resolve/secret.md.',
        'skills/good/SKILL.md': '---\nname: good\ndescription: Good\n---\nGood.',
      },
    },
  })
  writeFileSync(join(at.dir, 'secret.md'), '---\ndescription: canary-description\n---\ncanary-body')
  symlinkSync(join(at.dir, 'secret.md'), join(at.placeOf('evil'), 'link.md'))
  mkdirSync(join(at.placeOf('evil'), 'skills/bad'))
  symlinkSync(join(at.dir, 'secret.md'), join(at.placeOf('evil'), 'skills/bad/SKILL.md'))
  symlinkSync('/etc', join(at.placeOf('evil'), 'skills/etc'))
  execFileSync('mkfifo', [join(at.placeOf('evil'), 'fifo.md')])
  const text = await sent(at)
  expect(text).toContain('evil:good')
  expect(text).not.toContain('canary-')
})

test('cycles, deep chains, thousands of skills and hostile YAML end, and leave what is sound', async () => {
  const chain = Object.fromEntries(
    Array.from({ length: 20 }, (_, level) => [
      `chain/${level}.yaml`,
      `bundle: { name: chain${level} }\nincludes: ["./${level + 1}.yaml", "./0.yaml"]\ncontext: { include: ["big:note${level}.md"] }\n`,
    ]),
  )
  const notes = Object.fromEntries(Array.from({ length: 20 }, (_, level) => [`note${level}.md`, `Note ${level}!`]))
  const skills = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, number) => [
      `skills/s${String(number).padStart(4, '0')}/SKILL.md`,
      `---\nname: s${number}\ndescription: Skill ${number}\n---\nx`,
    ]),
  )
  const lines = [...'abcdefgh'].map(
    (name, at) => `${name}: &${name} [${Array(9).fill(at === 0 ? 'x' : `*${'abcdefgh'[at - 1]}`)}]`,
  )
  const at = instanceWith({
    big: {
      files: {
        'bundle.md': '---\nbundle: { name: big }\nincludes: ["./chain/0.yaml"]\n---\nBig.',
        ...chain,
        ...notes,
        ...skills,
      },
    },
    bombs: {
      files: {
        '.claude-plugin/plugin.json': '{"name": "bombs", "skills": 7, "__proto__": {"agents": "x"}}',
        'agents/a-bomb.md': `---\n${lines.join('\n')}\ndescription: laughs\n---\nx`,
        'agents/b-deep.md': `---\nx: ${'['.repeat(9_000)}\ndescription: deep\n---\nx`,
        'agents/c-large.md': `---\ndescription: ${'large '.repeat(100_000)}\n---\nx`,
        'agents/d-odd.md': '---\nname: "../../odd"\ndescription: !!python/object:os.system odd one\n---\nThe odd one.',
        'agents/e-sound.md': '---\nname: sound\ndescription: Sound and: safe\n---\nThe sound one.',
        'agents/f-list.md': '---\nname: [1]\ndescription: { a: b }\n---\nx',
      },
    },
    gone: { path: '/nonexistent/bundle', files: {} },
    missing: { path: null, reason: 'it was moved', files: {} },
  })
  const text = await sent(at)
  expect([...text.matchAll(/big:s\d+: Skill/g)]).toHaveLength(64)
  expect([...text.matchAll(/Note \d+!/g)]).toHaveLength(8)
  expect(text).toContain('bombs:sound: Sound and: safe')
  expect(text).toContain('bombs:d-odd: odd one')
  for (const absent of ['large large', 'bombs:f-list', 'bombs:b-deep', '../odd'])
    expect(text, absent).not.toContain(absent)
})

test('an agent of a bundle works in a session of its own, and its unknown name is refused before the model is asked', async () => {
  const at = instanceWith({
    crew: {
      files: {
        'agents/mason.md':
          '---\nname: mason\ndescription: Builds walls\ntools: ["Read", "Grep"]\n---\nYou are the mason.',
        'AGENTS.md': 'Advice of the crew.',
      },
    },
  })
  llm.script([
    ({ text }) =>
      text.includes('You are the mason.')
        ? { text: 'A wall.' }
        : text.includes('A wall.')
          ? { text: 'Done.' }
          : { calls: [{ tool: 'agent', input: { agent: 'crew:mason', task: 'Build.' } }] },
  ])
  expect(await (await at.create('work')).run('Go.')).toMatchObject({ output: 'Done.' })
  const [asked] = llm.requests.filter(({ text }) => text.includes('You are the mason.'))
  expect(asked?.text).not.toContain('Advice of the crew.')
  const tools = (asked?.body['tools'] ?? []) as { name: string }[]
  expect(tools.map(({ name }) => name)).toEqual(['read', 'search'])
  const before = llm.requests.length
  await expect(at.create('x', { agent: 'crew:nurse' })).rejects.toMatchObject({ code: 'session_options_invalid' })
  await expect(at.create('x', { agent: 'crew:mason', bundles: false })).rejects.toThrow('"bundles" is false')
  expect(llm.requests).toHaveLength(before)
})
