/** The connection to one MCP server: opened when a session is created, and again when it is needed after it broke. */
import type { CallToolResult, ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import { fail } from '../../core/errors.ts'
import { MCP_PAGES_MAX, MCP_STARTS_MAX, MCP_TOOLS_MAX } from '../../core/limits.ts'
import type { McpProgram, McpServer } from '../contract/contract.ts'
import type { Guardian } from '../guardian/guardian.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { StdioTransport } from './stdio-transport.ts'
import { isProgram } from './wanted.ts'

export interface McpPlace {
  /** The id of the session. */
  session: string
  cwd: string
  resolveDir: string
  guardian: Guardian
  /** Of the instance. */
  signal: AbortSignal
  /** How long a server has to start, and to answer a call. */
  startMs: number
  callMs: number
}

export type ToolTold = ListToolsResult['tools'][number]

interface Open {
  client: MCPClient
  /** Of a server that is a program. */
  stdio: StdioTransport | undefined
}

export class Connection {
  readonly name: string
  readonly #server: McpServer
  readonly #place: McpPlace
  #opening: Promise<Open> | undefined
  #stdio: StdioTransport | undefined
  /** Ends calls of a server over HTTP whose answer is not read to its end. */
  #fault = new AbortController()
  #starts = 0
  #isClosed = false

  constructor(name: string, server: McpServer, place: McpPlace) {
    this.name = name
    this.#server = server
    this.#place = place
  }

  /** Starts it and lists its tools: one more than are allowed at most. Throws why that failed. */
  async tools(): Promise<ToolTold[]> {
    const { signal, startMs: timeout } = this.#place
    const { client } = await this.#open()
    const found: ToolTold[] = []
    try {
      let cursor: string | undefined
      for (let page = 0; page < MCP_PAGES_MAX && found.length <= MCP_TOOLS_MAX; page += 1) {
        const params = cursor === undefined ? {} : { params: { cursor } }
        const told = await client.listTools({ ...params, options: { signal, timeout } })
        found.push(...told.tools.slice(0, MCP_TOOLS_MAX + 1))
        cursor = told.nextCursor
        if (cursor === undefined) break
      }
      return found
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** Throws what stands in the way, in words for the model. */
  async call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const { callMs: timeout } = this.#place
    const { client, stdio } = await this.#open()
    const startedAt = performance.now()
    const fault = this.#fault
    try {
      return await client.callTool({
        name: tool,
        arguments: input,
        options: { signal: AbortSignal.any([signal, fault.signal]), timeout },
      })
    } catch (error) {
      signal.throwIfAborted()
      if (fault.signal.aborted) throw this.#failure(fault.signal.reason)
      const { code, message } = error as { code?: unknown; message?: unknown }
      // The server's own answer.
      if (typeof code === 'number') return { content: [{ type: 'text', text: String(message) }], isError: true }
      if (performance.now() - startedAt < timeout) throw this.#failure(error)
      const detail = `it gave no answer to "${tool}" within ${timeout / 1_000} s`
      // A program would work on unseen, and may answer nothing else meanwhile.
      await stdio?.end(detail)
      throw fail('mcp_server_failed', { server: this.name, detail })
    }
  }

  /** Ends it, with everything that it started. `isStop`: at once. */
  async close(isStop = false): Promise<void> {
    this.#isClosed = true
    if (isStop) await this.#stdio?.end('it was ended')
    else await this.#stdio?.close()
    const [open] = await Promise.allSettled([this.#opening])
    if (open.status === 'fulfilled') await open.value?.client.close().catch(() => undefined)
  }

  #open(): Promise<Open> {
    if (this.#opening === undefined || this.#stdio?.isClosed === true) {
      const opening = this.#connect()
      this.#opening = opening
      // What failed is tried again at the next call.
      opening.catch(() => {
        if (this.#opening === opening) this.#opening = undefined
      })
    }
    return this.#opening as Promise<Open>
  }

  async #connect(): Promise<Open> {
    const { signal, startMs: timeout } = this.#place
    signal.throwIfAborted()
    if (this.#isClosed || this.#starts >= MCP_STARTS_MAX)
      throw fail('mcp_server_failed', { server: this.name, detail: 'it has ended, and is not started again' })
    this.#starts += 1
    const { createMCPClient } = await import('@ai-sdk/mcp')
    const common = {
      clientName: 'resolve',
      maxRetries: 0,
      initializationOptions: { signal, timeout },
      onUncaughtError: () => {},
    }
    const server = this.#server
    if (isProgram(server)) {
      const stdio = this.#stdioOf(server)
      this.#stdio = stdio
      try {
        return { client: await createMCPClient({ ...common, transport: stdio }), stdio }
      } catch (error) {
        await stdio.end(reasonOf(error))
        throw this.#failure(error, stdio.lastWords === '' ? '' : `. It printed: ${stdio.lastWords}`)
      }
    }
    const { url, headers = {} } = server
    const onFault = (detail: string) => {
      this.#fault.abort(detail)
      this.#fault = new AbortController()
    }
    const transport = { type: 'http', url, headers: { ...headers }, fetch: boundedFetch(onFault) } as const
    try {
      return { client: await createMCPClient({ ...common, transport }), stdio: undefined }
    } catch (error) {
      throw this.#failure(error)
    }
  }

  #stdioOf(program: McpProgram): StdioTransport {
    const { cwd, resolveDir, session, guardian } = this.#place
    const mark = `${session}:${process.pid}:mcp:${this.name}:${this.#starts}`
    // Its processes are no orphans while it lives.
    const onEnd = guardian.enter(mark)
    return new StdioTransport({ name: this.name, program, cwd, resolveDir, mark, onEnd })
  }

  #failure(error: unknown, more = ''): Error {
    this.#place.signal.throwIfAborted()
    const detail = `${this.#stdio?.problem ?? reasonOf(error)}${more}`
    return fail('mcp_server_failed', { server: this.name, detail }, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, REASON_MAX_CHARS)
}

const REASON_MAX_CHARS = 1_000
