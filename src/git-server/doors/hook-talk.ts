/** The server's end of the conversation with the hooks of one push. */
import type { Duplex } from 'node:stream'
import type { RefMove } from '../pulls/refs-moved.ts'

export interface Hooked {
  hook: 'pre-receive' | 'post-receive'
  options: string[]
  moves: RefMove[]
}

export interface HookAnswer {
  /** Lines for the person who pushes; git shows them after `remote: `. */
  say: string[]
  isRefused: boolean
}

/** More than the most options and refs of a push take. */
const TALK_MAX_CHARS = 4 * 1024 * 1024

/** Calls `answer` for each hook that speaks; ends the connection, and so the push, where one says too much. */
export function talkWithHooks(stream: Duplex, answer: (hooked: Hooked) => Promise<HookAnswer>): void {
  let rest = ''
  let said = 0
  let hooked: Hooked = { hook: 'pre-receive', options: [], moves: [] }
  const reply = async (told: Hooked): Promise<void> => {
    const { say, isRefused } = await answer(told).catch((error: unknown) => {
      process.stderr.write(`${(error as Error)?.stack ?? error}\n`)
      return { say: ['The git server failed: its log says why.'], isRefused: true }
    })
    const lines = say.flatMap((text) => text.split(/[\r\n]+/)).map((line) => `say ${line}\n`)
    if (stream.writable) stream.write(`${lines.join('')}exit ${isRefused ? 1 : 0}\n`)
  }
  stream.on('error', () => {})
  stream.on('data', (part: Buffer) => {
    said += part.length
    if (said > TALK_MAX_CHARS) {
      stream.destroy()
      return
    }
    const lines = (rest + part.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [word = '', ...others] = Buffer.from(line, 'latin1').toString('utf8').split(' ')
      const value = others.join(' ')
      if (word === 'hook') hooked = { hook: value === 'post-receive' ? value : 'pre-receive', options: [], moves: [] }
      else if (word === 'option') hooked.options.push(value)
      else if (word === 'ref') hooked.moves.push(toMove(others))
      else if (word === 'end') void reply(hooked)
    }
  })
}

function toMove([from = '', to = '', ...ref]: string[]): RefMove {
  return { from, to, ref: ref.join(' ') }
}
