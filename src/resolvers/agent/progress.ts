/** The tool with which the model says what it does: a person who follows the run would otherwise see nothing for minutes. */
import type { OwnTool } from '../../sdk/index.ts'

const LINE_MAX_CHARS = 120

export function progressTool(tell: (line: string) => void): OwnTool {
  return {
    description:
      'Says in one short line what you do next, for the person who follows the run. Use it beside other calls when a new part of the work begins.',
    input: {
      type: 'object',
      properties: { line: { type: 'string' } },
      required: ['line'],
      additionalProperties: false,
    },
    readOnly: true,
    run({ line }) {
      const text = String(line)
        .replaceAll(/[\p{Cc}\s]+/gu, ' ')
        .trim()
        .slice(0, LINE_MAX_CHARS)
      if (text !== '') tell(text)
      return 'Told.'
    },
  }
}
