/** What bundles give to a session: skills, agents, instructions; and what of them can't run here. */
import { basename, join } from 'node:path'
import {
  SESSION_BUNDLE_AGENTS_MAX,
  SESSION_BUNDLE_INSTRUCTIONS_MAX_BYTES,
  SKILL_DESCRIPTION_MAX_CHARS,
  SKILLS_MAX,
} from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { type AgentFile, agentOf, readAgent } from './agent-files.ts'
import { listIn, objectIn, textIn } from './front-matter.ts'
import { isKnownModule } from './tool-names.ts'
import type { Tree } from './tree.ts'
import type { BundleNote, BundleUnit, Walk } from './walk.ts'

export interface BundleSkill {
  /** `namespace:name`. */
  name: string
  description: string
  /** Without links. */
  directory: string
  /** Of its bundle: no link of a skill leads out of it. */
  root: string
}

export interface BundleContents {
  skills: BundleSkill[]
  /** By `namespace:name`. */
  agents: Map<string, AgentFile>
  /** What a session is told first. */
  instructions: string
  /** Directories that the tools of a session may read. */
  directories: string[]
  notes: BundleNote[]
}

export function readContents(walk: Walk): BundleContents {
  return new Reader(walk).read()
}

class Reader {
  readonly #walk: Walk
  readonly #skills = new Map<string, BundleSkill>()
  readonly #agents = new Map<string, AgentFile>()
  readonly #context = new Map<string, string>()
  readonly #notes: BundleNote[]
  #skillsLeftOut = 0

  constructor(walk: Walk) {
    this.#walk = walk
    this.#notes = [...walk.notes]
  }

  read(): BundleContents {
    const { units } = this.#walk
    for (const unit of units) {
      if (unit.kind === 'amplifier') this.#readAmplifier(unit)
      if (unit.kind === 'plugin') this.#readPlugin(unit)
      if (unit.ownsFolders) this.#readFolders(unit)
    }
    if (this.#skillsLeftOut > 0)
      this.#note('faulty', 'skills', `${this.#skillsLeftOut} skills are left out: a session has at most ${SKILLS_MAX}`)
    const bodies = this.#bodies()
    return {
      skills: [...this.#skills.values()],
      agents: this.#agents,
      instructions: this.#instructions(bodies),
      directories: [...new Set(units.map(({ tree }) => tree.root))],
      notes: this.#notes,
    }
  }

  /** The body of a bundle replaces those of the bundles that it includes. */
  #bodies(): BundleUnit[] {
    const ofTop = new Map<number, BundleUnit>()
    for (const unit of this.#walk.units) if (unit.body.trim() !== '') ofTop.set(unit.top, unit)
    return [...ofTop.values()]
  }

  #instructions(bodies: readonly BundleUnit[]): string {
    for (const unit of bodies) for (const path of mentionsIn(unit.body)) this.#addContext(unit, path, 0)
    const parts = [
      ...bodies.map(({ namespace, body }) => `[Instructions of the bundle ${namespace}]\n${body.trim()}`),
      ...this.#context.values(),
    ]
    const whole = Buffer.from(parts.join('\n\n'))
    if (whole.length <= SESSION_BUNDLE_INSTRUCTIONS_MAX_BYTES) return whole.toString('utf8')
    const limit = SESSION_BUNDLE_INSTRUCTIONS_MAX_BYTES
    this.#note('faulty', 'instructions', `${whole.length} bytes of instructions are cut to ${limit}`)
    return `${whole
      .subarray(0, limit)
      .toString('utf8')
      .replace(/\ufffd$/, '')}\n[cut]`
  }

  #readAmplifier(unit: BundleUnit): void {
    const { fields, namespace } = unit
    for (const one of listIn(objectIn(fields, 'context'), 'include'))
      if (typeof one === 'string') this.#addContext(unit, one, 0)
    const agents = objectIn(fields, 'agents')
    for (const one of listIn(agents, 'include').slice(0, SKILLS_MAX))
      if (typeof one === 'string') this.#addIncludedAgent(unit, one)
    for (const [name, inline] of Object.entries(agents)) {
      if (name === 'include' || name === 'dirs' || !isObject(inline)) continue
      const agent = agentOf(inline, textIn(inline, 'instruction') ?? textIn(inline, 'instructions') ?? '')
      if (agent !== undefined) this.#addAgent(`${namespace}:${name}`, agent)
    }
    for (const kind of ['hooks', 'providers', 'tools']) {
      for (const one of listIn(fields, kind).slice(0, 100)) {
        const module = textIn(one, 'module') ?? (typeof one === 'string' ? one : undefined)
        if (module === undefined || (kind === 'tools' && isKnownModule(module))) continue
        this.#note('unsupported', namespace, `${kind.slice(0, -1)} ${module}`)
      }
    }
  }

  /** `namespace:name` is the file of that name in `agents/`; a path of a file is one too. */
  #addIncludedAgent(unit: BundleUnit, name: string): void {
    const place = this.#placeOf(unit, name)
    if (place === undefined) return
    const { tree, directory, path, namespace } = place
    const stem = path.replace(/\.md$/, '').replace(/^agents\//, '')
    const file = [`agents/${stem}.md`, `${stem}.md`].find((one) => tree.isFile(join(directory, one)))
    if (file === undefined) this.#note('faulty', unit.namespace, `there is no agent ${name}`)
    else this.#addAgentFile(tree, join(directory, file), namespace)
  }

  #readPlugin(unit: BundleUnit): void {
    const { tree, directory, namespace, fields } = unit
    for (const key of ['skills', 'agents'] as const) {
      for (const path of listIn(fields, key)) {
        if (typeof path !== 'string') continue
        const at = join(directory, path)
        if (key === 'skills') this.#addSkillsOf(tree, at, namespace)
        else if (tree.isFile(at)) this.#addAgentFile(tree, at, namespace)
        else this.#addAgentsOf(tree, at, namespace)
      }
    }
    this.#noteServers(unit, objectIn(fields, 'mcpServers'))
    const files = ['.mcp.json', ...listIn(fields, 'mcpServers').filter((one) => typeof one === 'string')]
    for (const file of files) this.#noteServersOf(unit, join(directory, file))
    const hasHooks = tree.isFile(join(directory, 'hooks/hooks.json')) || Object.hasOwn(fields, 'hooks')
    if (hasHooks) this.#note('unsupported', namespace, 'hooks')
    const commands = tree.names(join(directory, 'commands')).filter((name) => name.endsWith('.md'))
    if (commands.length > 0)
      this.#note('unsupported', namespace, `commands ${commands.map((name) => basename(name, '.md')).join(', ')}`)
  }

  #noteServersOf(unit: BundleUnit, file: string): void {
    const text = unit.tree.read(file)
    if (text === undefined) return
    try {
      const value: unknown = JSON.parse(text)
      const servers = objectIn(value, 'mcpServers')
      this.#noteServers(unit, Object.keys(servers).length > 0 || !isObject(value) ? servers : value)
    } catch {
      this.#note('faulty', unit.namespace, `${file} is no JSON`)
    }
  }

  /** A bundle that is included could name any program, so none is started. */
  #noteServers({ namespace }: BundleUnit, servers: Record<string, unknown>): void {
    for (const [name, server] of Object.entries(servers).slice(0, 8)) {
      if (!isObject(server) || !/^[\w.-]{1,64}$/.test(name)) continue
      this.#note('unsupported', namespace, `MCP server ${name}`)
    }
  }

  #readFolders({ kind, tree, directory, namespace }: BundleUnit): void {
    if (kind === 'plain') this.#addSkillsOf(tree, directory, namespace)
    this.#addSkillsOf(tree, join(directory, 'skills'), namespace)
    // An Amplifier bundle names the agents that it has.
    if (kind !== 'amplifier') this.#addAgentsOf(tree, join(directory, 'agents'), namespace)
    if (kind !== 'plain') return
    const advice = tree.read(join(directory, 'AGENTS.md'))
    if (advice !== undefined)
      this.#context.set(join(tree.root, directory, 'AGENTS.md'), told('AGENTS.md', namespace, advice))
  }

  #addSkillsOf(tree: Tree, directory: string, namespace: string): void {
    const isOne = tree.isFile(join(directory, SKILL))
    const folders = isOne ? [directory] : tree.names(directory).map((name) => join(directory, name))
    for (const folder of folders) {
      if (!tree.isFile(join(folder, SKILL))) continue
      if (this.#skills.size >= SKILLS_MAX) this.#skillsLeftOut += 1
      else this.#addSkill(tree, folder, namespace)
    }
  }

  #addSkill(tree: Tree, folder: string, namespace: string): void {
    const file = join(folder, SKILL)
    const [text, found] = [tree.read(file), tree.find(folder)]
    if (text === undefined || found === undefined) {
      this.#note('faulty', namespace, `${file} can't be read, or is too large`)
      return
    }
    const { fields, fault } = this.#walk.yaml.front(text)
    if (fault !== undefined) this.#note('faulty', namespace, `${file}: ${fault}`)
    const own = textIn(fields, 'name') || basename(found.path)
    const name = `${namespace}:${own.replace(/\s+/g, ' ').slice(0, 100)}`
    const description = (textIn(fields, 'description') ?? '').replace(/\s+/g, ' ')
    if (this.#skills.has(name)) return
    this.#skills.set(name, {
      name,
      description: description.slice(0, SKILL_DESCRIPTION_MAX_CHARS),
      directory: found.path,
      root: tree.root,
    })
  }

  #addAgentsOf(tree: Tree, directory: string, namespace: string): void {
    const files = tree.names(directory).filter((name) => name.endsWith('.md'))
    for (const name of files.slice(0, 2 * SESSION_BUNDLE_AGENTS_MAX))
      this.#addAgentFile(tree, join(directory, name), namespace)
  }

  #addAgentFile(tree: Tree, file: string, namespace: string): void {
    const text = tree.read(file)
    const { agent, fault } = readAgent(this.#walk.yaml.front(text ?? ''))
    if (fault !== undefined || text === undefined)
      this.#note('faulty', namespace, `${file}: ${fault ?? "it can't be read, or is too large"}`)
    if (agent === undefined) return
    const stem = basename(file, '.md')
    const own = agent.name ?? stem
    this.#addAgent(`${namespace}:${/^[\w.-]{1,64}$/.test(own) ? own : stem.slice(0, 64)}`, agent)
    for (const tool of agent.unknownTools) this.#note('unsupported', namespace, `tool ${tool} of the agent ${own}`)
  }

  #addAgent(name: string, agent: AgentFile): void {
    if (this.#agents.has(name)) return
    if (this.#agents.size < SESSION_BUNDLE_AGENTS_MAX) this.#agents.set(name, agent)
    else this.#note('faulty', name, `this agent is left out: there are at most ${SESSION_BUNDLE_AGENTS_MAX}`)
  }

  /** A file of a bundle that the model is told, with the files that it names itself. */
  #addContext(unit: BundleUnit, name: string, depth: number): void {
    const place = this.#placeOf(unit, name)
    if (place === undefined) return
    const { tree, directory, path, namespace } = place
    const file = join(directory, path)
    const key = join(tree.root, file)
    if (this.#context.has(key)) return
    const text = tree.read(file)
    if (text === undefined) {
      if (depth === 0) this.#note('faulty', unit.namespace, `there is no file ${name}`)
      return
    }
    this.#context.set(key, told(path, namespace, text))
    const owner = { ...unit, tree, directory, namespace }
    if (depth < CONTEXT_DEPTH_MAX) for (const one of mentionsIn(text)) this.#addContext(owner, one, depth + 1)
  }

  /** `namespace:path`, or a path of the bundle itself. Of a bundle that this platform stands for there is nothing. */
  #placeOf(unit: BundleUnit, name: string) {
    const [, space, path = name] = /^@?([A-Za-z0-9][\w.-]*):(.+)$/.exec(name) ?? []
    const clean = path.replace(/^@?(?:\.\/)*/, '')
    if (space === undefined) return { ...unit, path: clean }
    const found = this.#walk.namespaces.get(space)
    return found === undefined ? undefined : { ...found, path: clean, namespace: space }
  }

  #note(kind: BundleNote['kind'], bundle: string, what: string): void {
    if (this.#notes.some((one) => one.bundle === bundle && one.what === what)) return
    this.#notes.push({ kind, bundle, what })
  }
}

const SKILL = 'SKILL.md'
const CONTEXT_DEPTH_MAX = 3

function told(path: string, namespace: string, text: string): string {
  return `[${path} of the bundle ${namespace}]\n${text.trim()}`
}

/** `@namespace:path` in a text outside of code. */
function mentionsIn(text: string): string[] {
  const plain = text.replace(/```[\s\S]*?(?:```|$)/g, '').replace(/`[^`\n]*`/g, '')
  const found = [...plain.matchAll(/(?:^|[\s(])@([A-Za-z0-9][\w.-]*:[\w./-]*[\w-])/g)].map(([, name]) => name ?? '')
  return [...new Set(found)].slice(0, 64)
}
