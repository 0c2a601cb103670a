/** Checks the MCP servers that an author names, before anything is started: pure. */
import { MCP_SERVERS_MAX } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { McpAddress, McpProgram, McpServer } from '../contract/contract.ts'

export function isProgram(server: McpServer): server is McpProgram {
  return 'command' in server
}

/** What is wrong with the option `mcp`; undefined where nothing is. */
export function problemWithMcp(mcp: unknown): string | undefined {
  if (!isObject(mcp)) return '"mcp" is no object'
  const names = Object.keys(mcp)
  if (names.length > MCP_SERVERS_MAX) return `it has ${names.length} MCP servers, and at most ${MCP_SERVERS_MAX} can be`
  for (const name of names) {
    if (!/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(name)) return `"${name.slice(0, 80)}" can't be the name of an MCP server`
    const problem = problemWith(mcp[name])
    if (problem !== undefined) return `the MCP server "${name}" ${problem}`
  }
  return undefined
}

function problemWith(server: unknown): string | undefined {
  if (!isObject(server)) return 'is no object'
  const { command, url, args = [], env = {}, headers = {}, tools = [] } = server
  if (!isTexts(tools)) return 'has "tools" that are no list of names'
  if ((command === undefined) === (url === undefined)) return 'needs either "command" or "url"'
  if (url !== undefined) {
    if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      return 'has a "url" that is no address of http or https'
    return isTextMap(headers) ? undefined : 'has "headers" that are no texts by name'
  }
  if (typeof command !== 'string' || command === '') return 'has a "command" that is no name of a program'
  if (!isTexts(args)) return 'has "args" that are no list of texts'
  return isTextMap(env) ? undefined : 'has an "env" of other than texts by name'
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function isTextMap(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((one) => typeof one === 'string')
}

/** Values that belong in no result: headers, and variables that are named as secrets are. */
export function secretsOfServer(server: McpServer): string[] {
  if (isProgram(server)) {
    const named = Object.entries(server.env ?? {}).filter(([name]) => SECRET_NAME.test(name))
    return named.map(([, value]) => value)
  }
  const { password } = new URL(server.url)
  const values = Object.values((server satisfies McpAddress).headers ?? {})
  // The scheme before a token is no part of it: "Bearer abc".
  return [password, ...values, ...values.map((value) => value.slice(value.indexOf(' ') + 1))]
}

const SECRET_NAME = /TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH/i
