/** Edits one file of a clone by a rule. The clone's content is not trusted: no link leads out of it. */
import { readFile, realpath, writeFile } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'

export type Rule = { edit: 'replace'; search: string; replacement: string } | { edit: 'append'; addition: string }

export type Edited = { changes: string } | { problem: string }

const FILE_MAX_BYTES = 4 * 1024 * 1024

/** Where nothing can be edited, the problem is a sentence for the consumer. */
export async function editFile(clone: string, file: string, rule: Rule): Promise<Edited> {
  const place = await placeOf(clone, file)
  if (place === undefined) return { problem: `${file} is no file of the repository` }
  const bytes = await readFile(place).catch(() => undefined)
  if (bytes === undefined) return { problem: `${file} is no file of the repository` }
  if (bytes.length > FILE_MAX_BYTES || bytes.includes(0)) return { problem: `${file} is no text file, or too large` }
  const before = bytes.toString('utf8')
  const parts = rule.edit === 'replace' ? before.split(rule.search) : [before, '']
  if (parts.length === 1) return { problem: `${file} does not contain the text to replace` }
  const after = rule.edit === 'replace' ? parts.join(rule.replacement) : appended(before, rule.addition)
  if (after === before) return { problem: 'The edit changes nothing' }
  await writeFile(place, after)
  const times = parts.length - 1
  return { changes: rule.edit === 'append' ? 'text appended' : times === 1 ? '1 place' : `${times} places` }
}

/** Undefined outside the clone, and for git's own files. */
async function placeOf(clone: string, file: string): Promise<string | undefined> {
  const root = await realpath(clone)
  const place = await realpath(join(root, file)).catch(() => undefined)
  if (place === undefined) return undefined
  const inside = relative(root, place)
  const [first = ''] = inside.split(sep)
  const isOutside = inside === '' || first === '..' || isAbsolute(inside) || first.toLowerCase() === '.git'
  return isOutside ? undefined : place
}

/** On a line of its own. */
function appended(before: string, addition: string): string {
  const gap = before === '' || before.endsWith('\n') ? '' : '\n'
  return `${before}${gap}${addition}${addition.endsWith('\n') ? '' : '\n'}`
}
