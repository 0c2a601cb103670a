/** Matches names against globs (`gate*`, `resolver:*`): `*` matches any characters, `?` exactly one. */

export function matchesGlob(name: string, glob: string): boolean {
  // Greedy, and backtracks to the last star only: no exponential time on hostile names.
  let at = 0
  let inGlob = 0
  let star = -1
  let mark = 0
  while (at < name.length) {
    if (inGlob < glob.length && (glob[inGlob] === '?' || (glob[inGlob] === name[at] && glob[inGlob] !== '*'))) {
      at += 1
      inGlob += 1
    } else if (glob[inGlob] === '*') {
      star = inGlob
      mark = at
      inGlob += 1
    } else if (star !== -1) {
      inGlob = star + 1
      mark += 1
      at = mark
    } else return false
  }
  while (glob[inGlob] === '*') inGlob += 1
  return inGlob === glob.length
}
