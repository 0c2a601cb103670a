/**
 * The mirrors of package registries that an operator names in RESOLVE_CHECK_MIRRORS: `host` or `host:port`, with commas between them. The
 * build of a reality check may reach them although their address is a private one. {@link file://./check-egress.ts} reads them.
 */
import { fail } from '../../errors.ts'
import { EGRESS_RULES_MAX } from '../../limits.ts'
import { type EgressRule, parseTarget } from '../../protocol/egress.ts'

const WEB_PORTS = [80, 443]
const SHOWN_MAX_CHARS = 100

/** The mirrors in the variable. Throws `check_mirrors_invalid`, which names each text that is no mirror. */
export function checkMirrors(env: NodeJS.ProcessEnv = process.env): string[] {
  const listed = (env['RESOLVE_CHECK_MIRRORS'] ?? '').split(',').map((text) => text.trim())
  const texts = listed.filter((text) => text !== '')
  const faults = texts.flatMap((text) => (parseMirror(text) === undefined ? [faultOf(text)] : []))
  if (texts.length > EGRESS_RULES_MAX)
    faults.push(`it names ${texts.length} hosts, at most ${EGRESS_RULES_MAX} are allowed`)
  if (faults.length > 0) throw fail('check_mirrors_invalid', { reason: faults.join('; ') })
  return texts
}

/** The host with its port, or with both ports of the web; undefined for text that is no mirror. */
export function parseMirror(text: string): EgressRule | undefined {
  const hasPort = text.includes(':')
  const target = parseTarget(text, WEB_PORTS[0])
  if (target === undefined) return undefined
  return { host: target.host, isBelow: false, ports: hasPort ? [target.port] : WEB_PORTS }
}

function faultOf(text: string): string {
  const shown = JSON.stringify(text.slice(0, SHOWN_MAX_CHARS))
  if (text.includes('://') || text.includes('/')) return `${shown} is an address of a page: name only host:port`
  if (text.includes('*')) return `${shown} has a star: name each host`
  if (/^[0-9.]+(:[0-9]+)?$/.test(text) || text.startsWith('['))
    return `${shown} is a network address: give the host a name`
  return `${shown} is not host or host:port`
}
