/**
 * Prints the outputs of the action (action.yml) for $GITHUB_OUTPUT: `node outputs.mjs DOCUMENT EXIT_CODE`. The text of a resolver
 * may have any content, so each value has a delimiter of its own that cannot be guessed.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

const [file = '', code = ''] = process.argv.slice(2)

function readDocument() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    // The command was killed before it printed its document.
    return {}
  }
}

const document = readDocument()
const outputs = {
  'instance-id': document.instance_id ?? '',
  status: document.status ?? '',
  output: document.output ?? '',
  'exit-code': code,
  document: file,
}
for (const [name, value] of Object.entries(outputs)) {
  const end = `end_${randomUUID()}`
  process.stdout.write(`${name}<<${end}\n${value}\n${end}\n`)
}
