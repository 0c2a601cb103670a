/**
 * The MCP servers of one session, and their tools (docs/sessions.md, MCP servers). {@link file://./../main.ts} opens them when a session is
 * created, and closes them. A server that fails costs its tools, not the session.
 */
import {
  MCP_DESCRIPTION_MAX_CHARS,
  MCP_TOOL_NAME_MAX_CHARS,
  MCP_TOOLS_MAX,
  MCP_TOOLS_MAX_BYTES,
} from '../../core/limits.ts'
import { Redactor } from '../../core/redaction/redact.ts'
import type { McpServer } from '../contract/contract.ts'
import { mistaken, type Tool, told } from '../tools/tool.ts'
import { Connection, type McpPlace, type ToolTold } from './connection.ts'
import { resultImage, resultText } from './result-text.ts'
import { toolSchema } from './tool-schema.ts'
import { secretsOfServer } from './wanted.ts'

export class McpServers {
  readonly #connections: readonly Connection[]
  readonly #tools: readonly Tool[]
  /** What is missing, and why. */
  readonly warnings: readonly string[]

  private constructor(connections: readonly Connection[], tools: readonly Tool[], warnings: readonly string[]) {
    this.#connections = connections
    this.#tools = tools
    this.warnings = warnings
  }

  /** Starts all of them side by side. Throws only where the instance is stopped. */
  static async open(wanted: Readonly<Record<string, McpServer>>, place: McpPlace): Promise<McpServers> {
    const { signal } = place
    const found = Object.entries(wanted).map(([name, server]) => ({
      server,
      connection: new Connection(name, server, place),
    }))
    const connections = found.map(({ connection }) => connection)
    const closeAll = () => void Promise.all(connections.map((one) => one.close(true)))
    signal.addEventListener('abort', closeAll, { once: true })
    const lists = await Promise.allSettled(connections.map((one) => one.tools()))
    signal.throwIfAborted()
    const choice = new Choice()
    for (const [at, { server, connection }] of found.entries()) {
      const list = lists[at]
      const redactor = new Redactor(secretsOfServer(server))
      if (list?.status === 'fulfilled') choice.take(connection, list.value, server.tools, redactor)
      else choice.warn(redactor.text(messageOf(list?.reason)))
    }
    // A failed server is not kept.
    await Promise.all(connections.filter((_, at) => lists[at]?.status === 'rejected').map((one) => one.close(true)))
    return new McpServers(connections, choice.tools, choice.warnings)
  }

  /** `readOnly`: those that their server says only read. */
  tools(readOnly: boolean): readonly Tool[] {
    return readOnly ? this.#tools.filter(({ effect }) => effect === 'reads') : this.#tools
  }

  /** Ends them, with everything that they started. */
  async close(): Promise<void> {
    await Promise.all(this.#connections.map((one) => one.close()))
  }
}

/** Chooses among what servers tell, within the limits. */
class Choice {
  readonly tools: Tool[] = []
  readonly warnings: string[] = []
  readonly #names = new Set<string>()
  #bytes = 0

  warn(text: string): void {
    this.warnings.push(text)
  }

  take(
    connection: Connection,
    listed: readonly ToolTold[],
    only: readonly string[] | undefined,
    redactor: Redactor,
  ): void {
    const left: string[] = []
    for (const one of listed) {
      if (only !== undefined && !only.includes(one.name)) continue
      const tool = toolOf(connection, one, redactor)
      const bytes = Buffer.byteLength(JSON.stringify([tool.name, tool.description, tool.input]))
      const fits = this.tools.length < MCP_TOOLS_MAX && this.#bytes + bytes <= MCP_TOOLS_MAX_BYTES
      if (!fits || this.#names.has(tool.name)) {
        left.push(one.name)
        continue
      }
      this.tools.push(tool)
      this.#names.add(tool.name)
      this.#bytes += bytes
    }
    const absent = (only ?? []).filter((name) => !listed.some((one) => one.name === name))
    if (absent.length > 0) this.warn(`The MCP server "${connection.name}" has no tool ${named(absent)}.`)
    if (left.length > 0)
      this.warn(
        `The MCP server "${connection.name}" has more tools than a session takes (${MCP_TOOLS_MAX}). Left out: ${named(left)}.`,
      )
  }
}

function toolOf(connection: Connection, one: ToolTold, redactor: Redactor): Tool {
  const { name, description = '', inputSchema, annotations } = one
  const about = redactor.text(description).replace(CONTROLS, ' ').slice(0, MCP_DESCRIPTION_MAX_CHARS)
  return {
    name: `${connection.name}__${name.replace(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, MCP_TOOL_NAME_MAX_CHARS),
    description: `[Tool of the MCP server "${connection.name}", described by it] ${about}`.trim(),
    input: redactor.value(toolSchema(inputSchema)),
    isForeign: true,
    effect: annotations?.readOnlyHint === true ? 'reads' : 'runs',
    async run(input, { signal }) {
      try {
        const result = await connection.call(name, input, signal)
        const text = redactor.text(resultText(result))
        if (result['isError'] === true) return mistaken(text)
        const image = resultImage(result)
        return { ...told(text), ...(image === undefined ? {} : { image }) }
      } catch (error) {
        return mistaken(redactor.text(messageOf(error)))
      }
    },
  }
}

/** Without LF and tab. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

function named(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((one) => JSON.stringify(one.slice(0, 100)))
  return `${shown.join(', ')}${names.length > 10 ? ` and ${names.length - 10} more` : ''}`
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason)
}
