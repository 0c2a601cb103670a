/** `resolve help` and `--help`: prints the help of the program, a noun, a command or a topic. */
import { helpTopic, TOPICS } from '../terminal/help/help-topics.ts'
import { outputFrom } from '../terminal/output/output.ts'
import type { Found } from './find-command.ts'
import { COMMANDS, commandWords, SHORT_FORMS } from './index.ts'

export async function printHelp(
  argv: readonly string[],
  { id, noun, topic }: Extract<Found, { kind: 'help' }>,
): Promise<number> {
  const output = outputFrom(argv)
  if (topic !== undefined) {
    const text = helpTopic(topic)
    if (output.json) await output.document({ schema: 'resolve.help/1', topic, text })
    else await output.raw(text)
    return 0
  }
  const help = await import('../terminal/help/help.ts')
  const load = id === undefined ? undefined : COMMANDS[id]
  if (load !== undefined && id !== undefined) {
    await output.raw(help.commandHelp((await load()).default as never, commandWords(id)))
    return 0
  }
  const wanted = Object.entries(COMMANDS).filter(
    ([one]) => !SHORT_FORMS.includes(one) && (noun === undefined || one.startsWith(`${noun}:`)),
  )
  const summaries = await Promise.all(
    wanted.map(async ([one, loadOne]) => {
      const { summary = '', aliases } = (await loadOne()).default
      return { words: commandWords(one), summary, aliases }
    }),
  )
  await output.raw(noun === undefined ? help.rootHelp(summaries, Object.keys(TOPICS)) : help.nounHelp(noun, summaries))
  return 0
}
