/** Parses the options of a session that came over the protocol, with names in snake_case. What they mean is checked where it is opened. Pure. */
import { fail } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { AgentOptions, SessionOptions } from '../../sessions/contract/contract.ts'

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isFlag: Check = (value) => typeof value === 'boolean'
const isListOfTexts: Check = (value) => Array.isArray(value) && value.every(isText)
const hasNumbers: Check = (value) => isObject(value) && Object.values(value).every((one) => typeof one === 'number')

const isFetch: Check = (value) =>
  isObject(value) && Object.entries(value).every(([name, one]) => name === 'private_addresses' && isFlag(one))

interface Option {
  /** Its name in the SDK. */
  as: keyof SessionOptions
  /** What its value must be. */
  is: Check
  what: string
  /** Its value in the SDK, if it is another. */
  to?: (value: unknown) => unknown
}

const OPTIONS: Readonly<Record<string, Option>> = {
  model: { as: 'model', is: isText, what: 'a text' },
  instructions: { as: 'instructions', is: isText, what: 'a text' },
  tools: { as: 'tools', is: isListOfTexts, what: 'a list of texts' },
  skills: { as: 'skills', is: isListOfTexts, what: 'a list of texts' },
  agent: { as: 'agent', is: isText, what: 'a text' },
  bundles: { as: 'bundles', is: isFlag, what: 'true or false' },
  read_only: { as: 'readOnly', is: isFlag, what: 'true or false' },
  mcp: { as: 'mcp', is: isObject, what: 'an object of servers' },
  fetch: {
    as: 'fetch',
    is: isFetch,
    what: 'an object with "private_addresses"',
    to: (value) => ({ privateAddresses: (value as { private_addresses?: boolean }).private_addresses === true }),
  },
  cwd: { as: 'cwd', is: isText, what: 'a text' },
  limits: { as: 'limits', is: hasNumbers, what: 'an object of numbers' },
}

/** Throws `session_call_refused`. */
export function toSessionOptions(method: string, given: Record<string, unknown>): SessionOptions {
  const { agents, ...own } = given
  const options = optionsOf(method, own)
  if (agents === undefined) return options
  if (!isObject(agents)) throw refuse(method, '"agents" must be an object')
  const parsed = Object.entries(agents).map(([name, agent]) => [name, agentOf(method, name, agent)] as const)
  return { ...options, agents: Object.fromEntries(parsed) }
}

function agentOf(method: string, name: string, agent: unknown): AgentOptions {
  const { description, ...own } = isObject(agent) ? agent : {}
  if (typeof description !== 'string') throw refuse(method, `the agent "${name.slice(0, 64)}" needs a "description"`)
  return { ...optionsOf(method, own), description }
}

function optionsOf(method: string, given: Record<string, unknown>): SessionOptions {
  const found: [string, unknown][] = []
  for (const [name, value] of Object.entries(given)) {
    if (['own_tools', 'ownTools'].includes(name))
      throw refuse(method, 'own tools run in the process of the SDK, and cannot be given over the protocol')
    const option = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined
    if (option === undefined)
      throw refuse(
        method,
        `there is no option "${name.slice(0, 64)}"; there are ${Object.keys(OPTIONS).join(', ')}, agents`,
      )
    if (!option.is(value)) throw refuse(method, `the option "${name}" must be ${option.what}`)
    found.push([option.as, option.to?.(value) ?? value])
  }
  return Object.fromEntries(found) as SessionOptions
}

function refuse(method: string, problem: string) {
  return fail('session_call_refused', { method, problem })
}
