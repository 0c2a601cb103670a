/** The environment and settings of every git command that the platform runs on untrusted addresses (threats B6, D12). Pure. */

/** Kept from the host's environment: program lookup, proxies, certificates, the user's ssh agent. No variable named GIT_*. */
const KEPT = [
  'PATH',
  'TMPDIR',
  'SSH_AUTH_SOCK',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'https_proxy',
  'HTTPS_PROXY',
  'all_proxy',
  'ALL_PROXY',
  'no_proxy',
  'NO_PROXY',
]

/**
 * Builds an environment from nothing: no user or system configuration, no prompt, only the given transports. HOME is left out,
 * so neither ~/.netrc nor ~/.config/git is read.
 */
export function gitEnvironment(protocols: string, from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of KEPT) {
    const value = from[name]
    if (value !== undefined) kept[name] = value
  }
  return {
    ...kept,
    LC_ALL: 'C',
    GIT_ALLOW_PROTOCOL: protocols,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oForwardAgent=no -oClearAllForwardings=yes -oPermitLocalCommand=no',
  }
}

/** Settings that override what a repository says. */
export const GIT_SETTINGS: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.symlinks=false',
  'core.fsmonitor=false',
  'core.autocrlf=false',
  'core.protectNTFS=true',
  'core.protectHFS=true',
  'protocol.version=2',
  'fetch.fsckObjects=true',
  'submodule.recurse=false',
  'http.followRedirects=false',
  'credential.helper=',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting])
