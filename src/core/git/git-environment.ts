/** The environment and settings of every git command that the platform runs on untrusted addresses (threats B6, D12). Pure. */

/** Kept from the host's environment: program lookup, certificates, the user's ssh agent. No variable named GIT_*. */
const KEPT = ['PATH', 'TMPDIR', 'SSH_AUTH_SOCK', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
/** The operator's own proxy, where no other one is given. */
const PROXIES = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY']

/** Whether the operator sends this machine's requests through a proxy; then that one decides which addresses can be reached. */
export function hasOwnProxy(env: NodeJS.ProcessEnv = process.env): boolean {
  return ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'].some((name) => env[name])
}

/**
 * Builds an environment from nothing: no user or system configuration, no prompt, only the given transports. HOME is left out,
 * so neither ~/.netrc nor ~/.config/git is read. With `proxy` every https request of git goes through it.
 */
export function gitEnvironment(
  protocols: string,
  from: NodeJS.ProcessEnv = process.env,
  proxy?: string,
): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of proxy === undefined ? [...KEPT, ...PROXIES] : KEPT) {
    const value = from[name]
    if (value !== undefined) kept[name] = value
  }
  return {
    ...kept,
    ...(proxy === undefined ? {} : { https_proxy: proxy, http_proxy: proxy }),
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

/** Settings that override what a repository says. The memory settings keep a large pack below GIT_MEMORY_MAX_BYTES. */
export const GIT_SETTINGS: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.symlinks=false',
  'core.fsmonitor=false',
  'core.autocrlf=false',
  'core.protectNTFS=true',
  'core.protectHFS=true',
  'core.bigFileThreshold=32m',
  'core.packedGitWindowSize=32m',
  'core.packedGitLimit=256m',
  'pack.threads=1',
  'index.threads=1',
  'protocol.version=2',
  'fetch.fsckObjects=true',
  'receive.fsckObjects=true',
  'transfer.credentialsInUrl=die',
  'transfer.bundleURI=false',
  'uploadpack.packObjectsHook=',
  'submodule.recurse=false',
  'http.followRedirects=false',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=30',
  'credential.helper=',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting])
