/**
 * Opens the LLM sessions of an instance. {@link file://./../sdk/instance/sessions.ts} loads it at the first `create`: a resolver without
 * sessions loads nothing of it.
 */
import { realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../core/errors.ts'
import {
  SESSION_AGENTS_AT_ONCE,
  SESSION_INSTRUCTIONS_MAX_BYTES,
  SESSION_NAME_MAX_CHARS,
  SESSIONS_AT_ONCE,
  SESSIONS_MAX,
  SKILLS_MAX,
} from '../core/limits.ts'
import type { InstanceConfig, InstanceError } from '../core/protocol/instance.ts'
import { SESSIONS_DIR, type SessionCompleted, type SessionDispatched } from '../core/protocol/session/session.ts'
import { secretsOf } from '../core/redaction/config-secrets.ts'
import { Redactor } from '../core/redaction/redact.ts'
import { SessionBundles } from './bundles/session-bundles.ts'
import { type AgentOptions, REASONING, type SessionOptions, TOOL_NAMES } from './contract/contract.ts'
import { Guardian, type GuardianNote } from './guardian/guardian.ts'
import { instructionsWith } from './instructions.ts'
import { Budget } from './loop/budget.ts'
import { Lock } from './loop/lock.ts'
import { type Pace, USUAL_PACE } from './loop/parts.ts'
import { McpServers } from './mcp/servers.ts'
import { problemWithMcp } from './mcp/wanted.ts'
import { openModel } from './provider/model.ts'
import { hashOf, OpenSession } from './session.ts'
import { AGENT_TOOL, agentTool } from './tools/agent.ts'
import { Place } from './tools/place.ts'
import { findSkills, skillTool } from './tools/skills.ts'
import type { Tool } from './tools/tool.ts'
import { Toolbox } from './tools/toolbox.ts'
import { spentBefore } from './transcript/spent.ts'
import { Transcript } from './transcript/transcript.ts'

export interface SessionsOptions {
  config: InstanceConfig
  /** The path of `.resolve`. */
  dir: string
  /** Aborted by a stop of the instance. */
  signal: AbortSignal
  tellDispatched(data: SessionDispatched): void
  tellCompleted(data: SessionCompleted): void
  /** The first warning of each rule of the guardian. */
  onGuardian?: (note: GuardianNote) => void
  /** What a session goes on without. */
  onWarning?: (text: string) => void
  pace?: Partial<Pace>
}

export class Sessions {
  readonly #options: SessionsOptions
  readonly #guardian: Guardian
  readonly #redactor: Redactor
  readonly #bundles: SessionBundles
  readonly #budget: Budget | undefined
  readonly #places = new Lock(SESSIONS_AT_ONCE)
  /** Places for the agents of each session. */
  readonly #agents = new Map<string, Lock>()
  /** The MCP servers of each session that names some. */
  readonly #mcp = new Map<string, McpServers>()
  readonly #taken = new Set<string>()
  readonly #open: OpenSession[] = []

  constructor(options: SessionsOptions) {
    const { config, dir, onGuardian } = options
    this.#options = options
    // The container of a worker has its own control group; a local worker shares the one of its user.
    const isContainer = config.project_path === CONTAINER_PROJECT
    const onFirst = onGuardian === undefined ? {} : { onFirst: onGuardian }
    this.#guardian = new Guardian({ resolveDir: dir, isContainer, ...onFirst })
    this.#redactor = new Redactor(secretsOf(config))
    this.#bundles = new SessionBundles(config.bundles ?? [])
    const { budget_usd: usd, spent_usd = 0, budget_tokens: tokens, spent_tokens = 0 } = config
    if (usd === undefined && tokens === undefined) return
    const before = spentBefore(dir)
    // What the host was told has no turn that was cut, and a resolver can lose its transcripts: the larger sums count.
    const spent = { usd: Math.max(spent_usd, before.usd), tokens: Math.max(spent_tokens, before.tokens) }
    this.#budget = new Budget({ usd, tokens }, spent)
  }

  /** `number`: which session of its name it is, for a caller that opens them in any order; by default the next. */
  async create(name: string, options: SessionOptions = {}, number?: number): Promise<OpenSession> {
    this.#options.signal.throwIfAborted()
    // Before anything waits, so that the order of the calls decides about ids.
    const id = this.#idFor(name, number)
    this.#taken.add(id)
    try {
      const session = await this.#make(id, name, options)
      this.#open.push(session)
      return session
    } catch (error) {
      this.#taken.delete(id)
      throw error
    }
  }

  /** How many this process has opened. */
  get used(): number {
    return this.#open.length
  }

  /** Tells the end of every turn that is under way: for a run that ends and is not paused. */
  endOpen(error: InstanceError): void {
    for (const session of this.#open) session.endOpen(error)
    for (const servers of this.#mcp.values()) void servers.close()
  }

  /** `parent`: the session whose agent it is. */
  async #make(id: string, name: string, options: SessionOptions, parent?: string): Promise<OpenSession> {
    const { config, dir, signal, pace, tellDispatched, tellCompleted } = this.#options
    const problem = problemWith(options) ?? this.#bundles.problemWith(options)
    if (problem !== undefined) throw fail('session_options_invalid', { session: name, problem })
    const { credentials, llm } = config
    let transcript: Transcript | undefined
    const model = await openModel({
      model: options.model ?? llm?.model ?? '',
      reasoning: options.reasoning,
      apiKey: credentials.llm_provider_api_key ?? '',
      baseUrl: llm?.base_url ?? '',
      name,
      session: id,
      nextStep: () => transcript?.history.steps ?? 0,
      here: () => {
        const turns = transcript?.history.turns ?? []
        const { prompt = '', steps = 0 } = turns.at(-1) ?? {}
        return { prompt, turn: Math.max(0, turns.length - 1), step: steps }
      },
    })
    const { limits = {}, readOnly = false, ownTools = {} } = options
    const share = this.#bundles.shareOf(options, parent !== undefined)
    const tools = options.tools ?? share.tools
    const agents = { ...share.agents, ...options.agents }
    const bounded =
      limits.usd !== undefined ? '"limits.usd"' : config.budget_usd === undefined ? '' : 'the budget of the instance'
    if (bounded !== '' && model.kind === 'live' && model.price(ONE_TOKEN) === null)
      throw fail('session_options_invalid', {
        session: name,
        problem: `the price of ${model.id} is not known, so ${bounded} can't hold`,
      })
    const skills = [...findSkills(options.skills ?? []), ...share.skills].slice(0, SKILLS_MAX)
    const directory = join(dir, SESSIONS_DIR, id)
    transcript = new Transcript(directory, name, this.#redactor)
    const cwd = options.cwd ?? placeOf(config)
    const mcp = await this.#mcpOf(id, options, cwd, parent)
    const toolbox = new Toolbox({
      session: id,
      model: model.id,
      cwd,
      roots: [config.workspace_path, config.project_path],
      resolveDir: dir,
      directory,
      guardian: this.#guardian,
      redactor: this.#redactor,
      chosen: tools,
      own: ownTools,
      hooks: options.hooks ?? {},
      more: [
        ...(Object.keys(agents).length === 0
          ? []
          : [this.#agentTool(id, { ...options, agents }, () => transcript as Transcript)]),
        ...(skills.length === 0 ? [] : [skillTool(skills)]),
        ...(mcp?.tools(readOnly) ?? []),
      ],
      readable: [...skills.map((one) => one.directory), ...share.directories],
      readOnly,
      privateAddresses: options.fetch?.privateAddresses === true,
      signal,
    })
    const instructions = instructionsWith(share.instructions, options.instructions)
    await transcript.append('session', {
      name,
      model: model.id,
      kind: model.kind,
      parent: parent ?? null,
      instructions_sha256: hashOf(instructions),
      tools: [...toolbox.tools.keys()],
    })
    return new OpenSession({
      ...{ id, name, model, instructions, toolbox, transcript, limits, signal, tellDispatched, tellCompleted },
      imagesIn: new Place({ cwd, roots: [config.workspace_path], closed: dir, readable: [] }),
      budget: this.#budget,
      parent,
      top: realpathSync(config.project_path),
      guardian: this.#guardian,
      pace: { ...USUAL_PACE, ...pace },
      // A session that waits for its agents holds a place: they need others.
      places: parent === undefined ? this.#places : this.#ofAgents(parent),
    })
  }

  #agentTool(id: string, options: SessionOptions, transcriptOf: () => Transcript): Tool {
    const { agents = {}, model, reasoning, cwd, readOnly, ownTools, hooks, skills, fetch, bundles } = options
    return agentTool(agents, async (name, task, call) => {
      const inherited = { model, reasoning, cwd, readOnly, ownTools, hooks, skills, fetch, bundles }
      const given = Object.entries(inherited).filter(([, value]) => value !== undefined)
      const { description: _, ...own } = agents[name] as AgentOptions
      const agent = {
        ...(Object.fromEntries(given) as SessionOptions),
        ...own,
        ...(readOnly === true ? { readOnly } : {}),
      }
      // The same session where the call is made again after a crash.
      const child = await this.#make(`${id}.${hashOf(call.id).slice(0, 8)}`, name, agent, id)
      this.#open.push(child)
      const transcript = transcriptOf()
      const turn = transcript.history.lastTurn
      try {
        return (await child.run(task, { signal: call.signal })).output
      } finally {
        const { usage, cost_usd } = child.spent
        await child.close()
        await this.#mcp.get(child.id)?.close()
        if (!call.signal.aborted)
          await transcript.append('agent', { turn, call: call.id, session: child.id, usage, cost_usd })
      }
    })
  }

  /** Its own, or those of the session whose agent it is: they are not started twice. */
  async #mcpOf(id: string, { mcp }: SessionOptions, cwd: string, parent?: string): Promise<McpServers | undefined> {
    if (mcp === undefined) return parent === undefined ? undefined : this.#mcp.get(parent)
    const { dir: resolveDir, signal, onWarning, pace } = this.#options
    const { mcpStartMs: startMs, mcpCallMs: callMs } = { ...USUAL_PACE, ...pace }
    const place = { session: id, cwd, resolveDir, signal, guardian: this.#guardian, startMs, callMs }
    const servers = await McpServers.open(mcp, place)
    this.#mcp.set(id, servers)
    for (const text of servers.warnings) onWarning?.(this.#redactor.text(`Session ${id}: ${text}`))
    return servers
  }

  #ofAgents(parent: string): Lock {
    const places = this.#agents.get(parent) ?? new Lock(SESSION_AGENTS_AT_ONCE)
    this.#agents.set(parent, places)
    return places
  }

  /** `<name>`, or `<name>-k` for the k-th of a name; other characters than those of a file name become `-`. */
  #idFor(name: string, number?: number): string {
    const problem = (what: string) =>
      fail('session_options_invalid', { session: String(name).slice(0, 80), problem: what })
    if (typeof name !== 'string' || name.length > SESSION_NAME_MAX_CHARS)
      throw problem(`a name is a text of at most ${SESSION_NAME_MAX_CHARS} characters`)
    if (this.#taken.size >= SESSIONS_MAX) throw problem(`an instance has at most ${SESSIONS_MAX} sessions`)
    const base = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'session'
    if (number !== undefined) {
      const id = number === 1 ? base : `${base}-${number}`
      if (this.#taken.has(id)) throw problem(`"${id}" is the id of another session`)
      return id
    }
    let id = base
    for (let next = 2; this.#taken.has(id); next += 1) id = `${base}-${next}`
    return id
  }
}

const CONTAINER_PROJECT = '/project'
const ONE_TOKEN = { input_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 1 }

/** The repository, if there is one only; else the directory that holds them. */
function placeOf({ workspace_path, workspace = [], project_path }: InstanceConfig): string {
  const [only, ...others] = workspace
  if (only !== undefined && others.length === 0) return only.path
  return isDirectory(workspace_path) ? workspace_path : project_path
}

function problemWith({
  reasoning,
  instructions = '',
  tools = [],
  ownTools = {},
  cwd,
  limits = {},
  skills = [],
  mcp = {},
}: SessionOptions): string | undefined {
  if (Buffer.byteLength(instructions) > SESSION_INSTRUCTIONS_MAX_BYTES)
    return `its instructions have more than ${SESSION_INSTRUCTIONS_MAX_BYTES} bytes`
  if (reasoning !== undefined && !REASONING.includes(reasoning)) return `"reasoning" is one of ${REASONING.join(', ')}`
  const unknown = tools.find((one) => !TOOL_NAMES.includes(one))
  if (unknown !== undefined) return `there is no tool "${unknown}"; there are ${TOOL_NAMES.join(', ')}`
  const odd = Object.keys(ownTools).find((one) => !/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(one))
  if (odd !== undefined) return `"${odd}" can't be the name of a tool`
  const taken = Object.keys(ownTools).find((one) => [...TOOL_NAMES, AGENT_TOOL, 'skill'].includes(one))
  if (taken !== undefined) return `"${taken}" is the name of a tool of its own`
  const ofMcp = problemWithMcp(mcp)
  if (ofMcp !== undefined) return ofMcp
  const gone = skills.find((one) => !isDirectory(one))
  if (gone !== undefined) return `there is no directory ${gone}`
  if (cwd !== undefined && !isDirectory(cwd)) return `there is no directory ${cwd}`
  const wrong = Object.entries(limits).find(([, one]) => !(Number.isFinite(one) && one > 0))
  return wrong === undefined ? undefined : `its limit "${wrong[0]}" is no positive number`
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
