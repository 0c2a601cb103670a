/** Waits until an instance has the status that `pause`, `stop` or `cancel` asked for, and reports the status it reached. */
import type { Connection, Platform } from '../../core/index.ts'
import { isTerminal, type Status } from '../../core/protocol/status.ts'
import { statusText } from '../../core/view/status-words.ts'
import type { Story } from '../../core/view/story.ts'
import { instanceDocument } from '../output/documents.ts'
import { EXIT, type ExitCode, exitCodeOf } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'
import { awaitStatus } from './await-status.ts'
import { startStopCountdown } from './stop-countdown.ts'

/** The stop protocol ends a worker within 42 s (R26). After this limit the command reports the current status. */
const WAIT_LIMIT_MS = 60_000

interface Awaited {
  id: string
  wanted: Status
  onConnection: (connection: Connection) => void
}

/** Returns 0 if the wanted status was reached, else the exit code of the reached status. */
export async function reportEndStatus(output: Output, platform: Platform, awaited: Awaited): Promise<ExitCode> {
  const { story, code } = await awaitEndStatus(output, platform, awaited)
  if (output.json) await output.document(instanceDocument(story, code))
  return code
}

/** As {@link reportEndStatus}, without the document. */
export async function awaitEndStatus(
  output: Output,
  platform: Platform,
  { id, wanted, onConnection }: Awaited,
): Promise<{ story: Story; code: ExitCode }> {
  const until = AbortSignal.timeout(WAIT_LIMIT_MS)
  const endCountdown = startStopCountdown(output, id, (await platform.record(id)).stop)
  const isReached = (one: Story) => one.status === wanted || isTerminal(one.status)
  const story = await awaitStatus(platform, id, isReached, until, onConnection).finally(endCountdown)
  const code = story.status === wanted ? EXIT.ok : exitCodeOf(story.status)
  if (!output.json && (isTerminal(story.status) || story.status === wanted)) {
    const forced = story.history.at(-1)?.forced === true ? ': its worker was killed' : ''
    output.note(`${id} ${statusText(story.status)}${forced}`)
  } else if (!output.json) {
    const wait = commandLine('instance', 'wait', id)
    output.say(`${id} was asked to end and is still ${story.status}. "${wait}" waits for it.`)
  }
  return { story, code }
}
