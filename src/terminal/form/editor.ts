/** Edits a text in the user's editor (`$VISUAL` or `$EDITOR`), in a temporary file that only the user can read. */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXAMPLE_FEATURE_SPEC } from '../../core/feature-spec/example.ts'
import type { Payload } from '../../core/protocol/form.ts'
import { type Field, textIn } from '../../core/view/fields.ts'

export function editorCommand(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return [env['VISUAL'], env['EDITOR']].find((command) => command !== undefined && command.trim() !== '')
}

export type EditorResult = { text: string; problem?: never } | { problem: string }

/**
 * Edits the value of a field. An empty one for a feature spec begins with an example; if the user does not change it, the field stays empty: the example
 * must not be submitted by accident.
 */
export async function editField(field: Field, values: Payload, command: string): Promise<EditorResult> {
  const text = textIn(field, values)
  if (field.format !== 'feature-spec' || text !== '') return await editText(text, command)
  const result = await editText(EXAMPLE_FEATURE_SPEC, command)
  if (result.problem !== undefined) return result
  return result.text.trim() === EXAMPLE_FEATURE_SPEC.trim() ? { text: '' } : result
}

/**
 * Runs the editor on the terminal and returns the content of the file, without the last newline. A shell runs the command, as git
 * does, because it may contain arguments (`code --wait`).
 */
export async function editText(text: string, command: string): Promise<EditorResult> {
  const directory = await mkdtemp(join(tmpdir(), 'resolve-text-'))
  const path = join(directory, 'text.md')
  try {
    await writeFile(path, text === '' ? '' : `${text}\n`, { mode: 0o600 })
    const problem = await runEditor(command, path)
    if (problem !== undefined) return { problem }
    return { text: (await readFile(path, 'utf8')).replace(/\r?\n$/, '') }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Resolves with an error sentence; undefined on success. */
function runEditor(command: string, path: string): Promise<string | undefined> {
  // stdout may be a pipe; the editor must draw on the terminal.
  const screen = process.stdout.isTTY === true ? 'inherit' : 2
  const child = spawn('sh', ['-c', `${command} "$@"`, 'sh', path], { stdio: ['inherit', screen, 'inherit'] })
  return new Promise((done) => {
    child.on('error', (error) => done(`Can't start the editor: ${error.message}`))
    child.on('exit', (code) =>
      done(
        code === 0
          ? undefined
          : `The editor ended with ${code === null ? 'a signal' : `code ${code}`}: the text was not changed.`,
      ),
    )
  })
}
