/** Waits until an instance has the status that `pause`, `stop` or `cancel` asked for, and reports the status it reached. */
import type { Connection, Platform } from '../../core/index.ts'
import { isTerminal, type Status } from '../../core/protocol/status.ts'
import { statusText } from '../../core/view/status-words.ts'
import { instanceDocument } from '../output/documents.ts'
import { EXIT, type ExitCode, exitCodeOf } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'
import { awaitStatus } from './await-status.ts'

/** The stop protocol ends a worker within 42 s (R26). After this limit the command reports the current status. */
const WAIT_LIMIT_MS = 60_000

/** Returns 0 if the wanted status was reached, else the exit code of the reached status. */
export async function reportEndStatus(
  output: Output,
  platform: Platform,
  { id, wanted, onConnection }: { id: string; wanted: Status; onConnection: (connection: Connection) => void },
): Promise<ExitCode> {
  const until = AbortSignal.timeout(WAIT_LIMIT_MS)
  const story = await awaitStatus(
    platform,
    id,
    (one) => one.status === wanted || isTerminal(one.status),
    until,
    onConnection,
  )
  const code = story.status === wanted ? EXIT.ok : exitCodeOf(story.status)
  if (output.json) await output.document(instanceDocument(story, code))
  else if (isTerminal(story.status) || story.status === wanted) output.note(`${id} ${statusText(story.status)}`)
  else {
    const wait = commandLine('instance', 'wait', id)
    output.say(`${id} was asked to end and is still ${story.status}. "${wait}" waits for it.`)
  }
  return code
}
