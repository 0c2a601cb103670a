/** What a resolver sees of LLM sessions: the types of `ctx.sessions`. Types alone, so that the SDK loads nothing with them. */
import type { SessionUsage } from '../../core/protocol/session/session.ts'

/** The tools that a session can have. `tools` of the options chooses among them. */
export const TOOL_NAMES = [
  'read',
  'write',
  'edit',
  'apply_patch',
  'search',
  'glob',
  'fetch',
  'shell',
  'jobs',
  'todo_list',
] as const

export type ToolName = (typeof TOOL_NAMES)[number]

/** How much a model is to think before it answers; what of it a model knows is the provider's. */
export const REASONING = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export type Reasoning = (typeof REASONING)[number]

export interface SessionLimits {
  /** Model calls in one run. Default 200. */
  steps?: number
  /** Input and output tokens of the session together. Default: none. */
  tokens?: number
  /** Estimated cost of the session in US dollars. Default: none. A model without a known price is refused. */
  usd?: number
}

/** A tool of the resolver's author: it runs in the process of the resolver. */
export interface OwnTool {
  description: string
  /** JSON Schema of the input, an object. */
  input: Readonly<Record<string, unknown>>
  /** Offered in a session that is `readOnly` too. */
  readOnly?: boolean
  /** A thrown error is told to the model, and the session goes on. */
  run(input: Record<string, unknown>, call: { signal: AbortSignal }): Promise<string> | string
}

/** A call of a tool that a model made. */
export interface SeenCall {
  id: string
  tool: string
  input: Readonly<Record<string, unknown>>
  signal: AbortSignal
}

/** They run in the process of the resolver, also for calls of the agents of the session. What they throw is told to the model as the result of the call. */
export interface ToolHooks {
  /** A text refuses the call, and is what the model is told. */
  before?(call: SeenCall): Promise<string | undefined> | string | undefined
  /** The call has its result; one that threw has none. */
  after?(call: SeenCall & { output: string; isError: boolean }): Promise<void> | void
}

/** An MCP server that is a program: started with the session, and again after a pause. */
export interface McpProgram {
  command: string
  args?: readonly string[]
  /** Added to a short environment, which holds no secret. */
  env?: Readonly<Record<string, string>>
  /** Which of its tools the model gets, by the server's own names. Default: all. */
  tools?: readonly string[]
}

/** An MCP server that is reached over HTTP. */
export interface McpAddress {
  url: string
  headers?: Readonly<Record<string, string>>
  /** As of {@link McpProgram}. */
  tools?: readonly string[]
}

export type McpServer = McpProgram | McpAddress

export interface FetchOptions {
  /** Also addresses of this machine and of private networks. Default: no. */
  privateAddresses?: boolean
}

/** A session that a model can give a task to. What is absent is as in the session that it belongs to, except `agents`: agents have none. */
export interface AgentOptions extends Omit<SessionOptions, 'agents'> {
  /** When it is to be used; the model reads it. */
  description: string
}

export interface SessionOptions {
  /** `provider/model`. Default: RESOLVE_LLM_MODEL of the host. */
  model?: string
  /** Default: as the provider has it. */
  reasoning?: Reasoning
  /** What the model is told first. */
  instructions?: string
  /** Default: all; `apply_patch` is for models of OpenAI, and for others where it is named here. */
  tools?: readonly ToolName[]
  /** Tools of the author's own, by name. */
  ownTools?: Readonly<Record<string, OwnTool>>
  /** Looks at each call of a tool. */
  hooks?: ToolHooks
  /** MCP servers by name. The model gets their tools as `name__tool`. */
  mcp?: Readonly<Record<string, McpServer>>
  /** Sessions of their own that the model can give tasks to, by name. */
  agents?: Readonly<Record<string, AgentOptions>>
  /** Runs as this agent of the bundles, `namespace:name`: with its instructions, before `instructions`, and its tools. */
  agent?: string
  /** Whether it gets what the bundles of the resolver bring: skills, agents, instructions. Default: true. */
  bundles?: boolean
  /** Directories with skills: `SKILL.md`, or folders with one each. Readable for the tools. */
  skills?: readonly string[]
  /** Only tools that change nothing: read, search, glob, fetch, todo_list, and those that say so of an author and of MCP servers. */
  readOnly?: boolean
  /** What the tool fetch may reach. */
  fetch?: FetchOptions
  /** Where tools work. Default: the repository of the workspace if there is one only, else the directory of the workspace. */
  cwd?: string
  limits?: SessionLimits
}

/** A path in the workspace, absolute or from `cwd` of the session; or bytes. Png, jpeg, gif or webp, at most 5 MiB. */
export type PromptImage = string | { data: Uint8Array; mediaType: string }

export interface RunOptions {
  /** What the model is shown with the prompt: at most ten, of 15 MiB together. */
  images?: readonly PromptImage[]
  signal?: AbortSignal
  /** The place of the prompt among those of the session, from 1, where an earlier process gave those before it. Default: the next one. */
  number?: number
  /** JSON Schema of the answer: the model answers with JSON alone, which is checked, and may mend it once. */
  schema?: Readonly<Record<string, unknown>>
}

export interface AskedForObject extends RunOptions {
  schema: Readonly<Record<string, unknown>>
}

export interface SessionAnswer {
  /** What the model answered last. */
  output: string
  /** The answer as it fits `schema`; absent without one. */
  object?: unknown
  usage: SessionUsage
  /** An estimate in US dollars; null where the price of the model is not known, and for a scripted model. */
  cost_usd: number | null
  /** Model calls. */
  steps: number
}

/** One independent LLM session, with its own context. */
export interface Session {
  /** `<name>`, or `<name>-k` for the k-th session of a name. */
  readonly id: string
  /**
   * Works on a prompt until the model answers. A prompt that was answered before a pause is answered from the transcript at once. Throws
   * `session_failed`, `session_refused`, `session_limit`, `session_stuck`, `session_answer_invalid`, `session_image_refused`,
   * `session_images_unsupported`,
   * `budget_exceeded`, and the stop of the instance. With a schema, `T` is the type of what fits it, as the author names it.
   */
  run<T = unknown>(prompt: string, options: AskedForObject): Promise<SessionAnswer & { object: T }>
  run(prompt: string, options?: RunOptions): Promise<SessionAnswer>
  /** Says something to the model before its next step. Without a run, it is said with the next prompt. */
  steer(text: string): void
}

export interface SessionFactory {
  /** Throws `sessions_missing` without a key, `session_model_unknown`, `session_options_invalid`. */
  create(name: string, options?: SessionOptions): Promise<Session>
}
