/** Which data file a relative address in a Markdown file means (threats UI-2): a file of the same instance that exists, or none. Pure. */

/** `from` is the path of the file that holds the address. */
export function dataPathFrom(from: string, address: string, known: ReadonlySet<string>): string | undefined {
  const bare = address.split(/[?#]/, 1)[0] ?? ''
  // No scheme, no other server, no path from the root of the server.
  if (bare === '' || /^[a-z][a-z0-9+.-]*:/i.test(bare) || bare.startsWith('/') || bare.includes('\\')) return undefined
  const parts = from.split('/').slice(0, -1)
  for (const part of bare.split('/')) {
    const name = decoded(part)
    if (name === undefined || name.includes('/')) return undefined
    if (name === '' || name === '.') continue
    if (name !== '..') parts.push(name)
    else if (parts.pop() === undefined) return undefined
  }
  const path = parts.join('/')
  return known.has(path) ? path : undefined
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
