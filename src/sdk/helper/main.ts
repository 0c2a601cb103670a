/**
 * The session helper: runs the LLM sessions of a resolver without the SDK, as a process beside its worker with the same files, user and limits
 * (docs/sessions.md, In other languages). {@link file://./../../core/host/resources/session-helper.ts} starts it, calls it, and ends it by the
 * end of its input.
 */
import { Peer } from '../../core/rpc/peer.ts'
import { captureStdoutLate } from '../capture.ts'
import { StdioChannel } from '../stdio-channel.ts'
import { HelperService } from './service.ts'

captureStdoutLate()
const peer = new Peer(new StdioChannel())
const { RESOLVE_DIR: dir = '', RESOLVE_HELPER: mark = '' } = process.env
const service = new HelperService({ dir, mark, peer })
for (const [method, answer] of Object.entries(service.calls())) peer.handle(method, answer)
const leave = () => void service.leave().then(() => process.exit(0))
for (const event of ['end', 'close', 'error']) process.stdin.once(event, leave)
process.once('SIGTERM', leave)
