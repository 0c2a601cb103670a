/**
 * Which hosts a worker may reach (docs/manifest.md, The network): parses the rules of a manifest and the names in requests.
 * Pure.
 */

/** open: no restriction. none: no network. allowlist: only the hosts of `egress`, by name, through the platform's proxy. */
export const NETWORKS = ['open', 'none', 'allowlist'] as const

export type Network = (typeof NETWORKS)[number]

const LABEL = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
/** Must not end in a number: such a name is an address, and a rule cannot name an address. */
const LAST_LABEL = '[a-z]([a-z0-9-]{0,61}[a-z0-9])?'

/** `api.example.org`, `*.example.org`, `example.org:8443`. */
export const EGRESS_RULE_PATTERN = `^(\\*\\.)?(${LABEL}\\.)+${LAST_LABEL}(:[1-9][0-9]{0,4})?$`

const HOST = new RegExp(`^(${LABEL}\\.)*${LAST_LABEL}$`)
const RULE = new RegExp(EGRESS_RULE_PATTERN)
const HOST_MAX_CHARS = 253
const PORT_MAX = 65_535

/** The ports that a rule without a port opens. It does not open mail ports, for example. */
const USUAL_PORTS = [80, 443]

export interface EgressRule {
  /** Lower case, without a final dot. */
  host: string
  /** Whether the rule means the names below `name`, and not `name` itself. */
  isBelow: boolean
  ports: readonly number[]
}

/** undefined for text that is not a rule. */
export function parseEgressRule(text: string): EgressRule | undefined {
  if (!RULE.test(text)) return undefined
  const [name = '', port] = text.split(':')
  if (name.length > HOST_MAX_CHARS || (port !== undefined && Number(port) > PORT_MAX)) return undefined
  const isBelow = name.startsWith('*.')
  return {
    host: isBelow ? name.slice(2) : name,
    isBelow,
    ports: port === undefined ? USUAL_PORTS : [Number(port)],
  }
}

export interface Target {
  /** Lower case, without a final dot. */
  host: string
  port: number
}

/**
 * Parses `host:port` of a request. Returns undefined for everything but a plain host name: users, zones, addresses in any
 * notation (decimal, octal, hexadecimal, IPv6), empty labels, letters outside ASCII (programs send them as `xn--…`), invalid
 * ports.
 */
export function parseTarget(authority: string, defaultPort?: number): Target | undefined {
  const match = /^([^:]*)(?::([0-9]{1,5}))?$/.exec(authority)
  if (match === null) return undefined
  const [, name = '', digits] = match
  const port = digits === undefined ? defaultPort : Number(digits)
  const isPort =
    port !== undefined && port >= 1 && port <= PORT_MAX && (digits === undefined || !digits.startsWith('0'))
  // One final dot marks an absolute name; it means the same host.
  const host = name.toLowerCase().replace(/\.$/, '')
  if (!isPort || host.length > HOST_MAX_CHARS || !HOST.test(host)) return undefined
  return { host, port }
}

export function isAllowed(rules: readonly EgressRule[], target: Target): boolean {
  return rules.some((rule) => {
    const isNamed = rule.isBelow ? target.host.endsWith(`.${rule.host}`) : target.host === rule.host
    return isNamed && rule.ports.includes(target.port)
  })
}
