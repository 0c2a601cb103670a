/** After `pause`, `stop` and `cancel`: waits for the status that was asked for, and tells which one it became. */
import type { Connection, Platform } from '../../core/index.ts'
import { isTerminal, type Status } from '../../core/protocol/status.ts'
import { statusText } from '../../core/view/status-words.ts'
import { instanceDocument } from '../output/documents.ts'
import { EXIT, type ExitCode, exitCodeOf } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'
import { awaitStatus } from './await-status.ts'

/** The stop protocol ends a worker within 42 s (R26); after this the receipt says what still goes on. */
const PATIENCE_MS = 60_000

/** Exit code 0 once the wanted status is reached; another end gives that end's own code. */
export async function tellEnd(
  output: Output,
  platform: Platform,
  { id, wanted, onConnection }: { id: string; wanted: Status; onConnection: (connection: Connection) => void },
): Promise<ExitCode> {
  const until = AbortSignal.timeout(PATIENCE_MS)
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
    output.say(`${id} is asked to end and still ${story.status}; "${wait}" tells when it has.`)
  }
  return code
}
