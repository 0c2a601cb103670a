/**
 * Decides which hosts the proxy connects to, and at which of their addresses (threats B8): the rules of a manifest, every public host, and
 * the mirrors of the operator. {@link file://./egress-proxy.ts} asks for each connection.
 */
import { isNamedAddress, isPublicAddress } from '../../primitives/network-addresses.ts'
import { type EgressRule, isAllowed, parseEgressRule, type Target } from '../../protocol/egress.ts'
import { parseMirror } from './check-mirrors.ts'
import { isOwnAddress } from './own-addresses.ts'

export interface AdmissionOptions {
  /** The rules of the manifest; text that is not a rule allows nothing. */
  rules: readonly string[]
  /** Whether every public host may be reached, at the ports of the web. */
  publicHosts?: boolean
  /** Hosts that an operator named, which may have a private address; text that is no mirror allows nothing. */
  mirrors?: readonly string[]
  /** Which addresses may be connected to, but for mirrors; the public ones by default. */
  mayReach?: (address: string) => boolean
}

const WEB_PORTS = [80, 443]

export class Admission {
  readonly #rules: readonly EgressRule[]
  readonly #mirrors: readonly EgressRule[]
  readonly #publicHosts: boolean
  readonly #mayReach: (address: string) => boolean

  constructor({ rules, publicHosts = false, mirrors = [], mayReach = isOutside }: AdmissionOptions) {
    this.#rules = rules.map(parseEgressRule).filter((rule) => rule !== undefined)
    this.#mirrors = mirrors.map(parseMirror).filter((mirror) => mirror !== undefined)
    this.#publicHosts = publicHosts
    this.#mayReach = mayReach
  }

  /** Which addresses of the target may be connected to; undefined where it is not allowed. */
  addressesFor(target: Target): ((address: string) => boolean) | undefined {
    if (isAllowed(this.#mirrors, target)) return isNamedAddress
    const isOpen = this.#publicHosts && WEB_PORTS.includes(target.port)
    return isOpen || isAllowed(this.#rules, target) ? this.#mayReach : undefined
  }

  /** The sentence for the client. */
  whyRefused({ host, port }: Target): string {
    if (this.#publicHosts)
      return `${host}:${port} is refused: only ports ${WEB_PORTS.join(' and ')} of public hosts are open.`
    if (this.#mirrors.length > 0 && this.#rules.length === 0) {
      return `${host}:${port} is refused: only the mirrors that the operator named are open.`
    }
    return `This resolver may not reach ${host}:${port}: no rule of its manifest names it.`
  }
}

function isOutside(address: string): boolean {
  return isPublicAddress(address) && !isOwnAddress(address)
}
