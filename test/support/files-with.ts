/** Which files below a directory hold one of these texts, in any of the encodings that a program commonly writes. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** As `path: text`. What a resolver wrote into its own events file is its own. */
export function filesWith(directory: string, texts: readonly string[]): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return names.flatMap((name) => {
    const path = join(directory, name)
    if (name.endsWith('.resolve/events.jsonl') || statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
      return []
    let content = ''
    try {
      content = readFileSync(path, 'utf8')
    } catch (error) {
      // A process of the home replaced or removed it meanwhile.
      if ((error as { code?: string }).code !== 'ENOENT') throw error
    }
    return texts
      .filter((text) => formsOf(text).some((form) => content.includes(form)))
      .map((text) => `${name}: ${text}`)
  })
}

export function formsOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
      .toString('base64')
      .slice(Math.ceil((offset * 8) / 6), -4),
  )
  return [
    text,
    json,
    JSON.stringify(json).slice(1, -1),
    encodeURIComponent(text),
    Buffer.from(text).toString('hex'),
    ...base64,
  ]
}
