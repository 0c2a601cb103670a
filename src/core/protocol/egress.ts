/** Which hosts a worker may reach (docs/manifest.md, The network): the rules of a manifest, and the names a request comes with. Pure. */

/**
 * open: whatever the machine reaches. none: nothing at all. allowlist: the hosts of `egress`, by name, through our proxy.
 */
export const NETWORKS = ['open', 'none', 'allowlist'] as const

export type Network = (typeof NETWORKS)[number]

const LABEL = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
/** Not a number: what ends with one is an address, and no rule can name an address. */
const LAST_LABEL = '[a-z]([a-z0-9-]{0,61}[a-z0-9])?'

/** `api.example.org`, `*.example.org`, `example.org:8443`. */
export const EGRESS_RULE_PATTERN = `^(\\*\\.)?(${LABEL}\\.)+${LAST_LABEL}(:[1-9][0-9]{0,4})?$`

const HOST = new RegExp(`^(${LABEL}\\.)*${LAST_LABEL}$`)
const RULE = new RegExp(EGRESS_RULE_PATTERN)
const HOST_MAX_CHARS = 253
const PORT_MAX = 65_535

/** What a rule opens that names no port. A name is not leave to send mail from it. */
const USUAL_PORTS = [80, 443]

export interface EgressRule {
  /** Lower case, without a final dot. */
  host: string
  /** Whether the names below it are meant, and not it. */
  isBelow: boolean
  ports: readonly number[]
}

/** undefined for what is no rule. */
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
 * `host:port` as a request names it. undefined for everything but a plain host name: users, zones, addresses in whatever notation
 * (decimal, octal, hexadecimal, IPv6), empty labels, letters outside ASCII (which a program sends as `xn--…`), ports that are none.
 */
export function parseTarget(authority: string, defaultPort?: number): Target | undefined {
  const match = /^([^:]*)(?::([0-9]{1,5}))?$/.exec(authority)
  if (match === null) return undefined
  const [, name = '', digits] = match
  const port = digits === undefined ? defaultPort : Number(digits)
  const isPort =
    port !== undefined && port >= 1 && port <= PORT_MAX && (digits === undefined || !digits.startsWith('0'))
  // One final dot says that the name is whole; it means the same host.
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
