/** Picks the one line of git's stderr that says why it failed, without secrets and control characters. Pure. */

const REASON_MAX_CHARS = 300
/** Lines that git adds after every connection failure; the reason precedes them. */
const EMPTY_TALK =
  /^(fatal: Could not read from remote repository|Please make sure you have the correct access|and the repository exists)/

export function whyGitFailed(stderr: string): string {
  if (/out of memory/i.test(stderr)) return 'the server sends more than git may hold in memory.'
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.replace(/\p{C}/gu, '').trim())
    .filter((line) => line !== '' && !EMPTY_TALK.test(line))
  const loud = lines.findLast((line) => /^(fatal|error): /.test(line))
  const line = loud ?? lines.at(-1)
  if (line === undefined) return 'the connection ended without a reason.'
  const text = hideSecrets(line.replace(/^(fatal|error): (remote error: )?/, '')).slice(0, REASON_MAX_CHARS)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

function hideSecrets(line: string): string {
  return line
    .replace(/(:\/\/)[^/\s@]*@/g, '$1…@')
    .replace(/\b(authorization|bearer|token|password)\b\s*[:=]?\s*\S+/gi, '$1 …')
}
