/** A tool whose calls a resolver looks at: before each of them, and after (docs/sessions.md, Options and results). */
import type { ToolHooks } from '../contract/contract.ts'
import { mistaken, type Tool } from './tool.ts'

export function hooked(tool: Tool, { before, after }: ToolHooks): Tool {
  return {
    ...tool,
    async run(input, call) {
      const seen = { id: call.id, tool: tool.name, input, signal: call.signal }
      const refusal = await before?.(seen)
      if (typeof refusal === 'string') return mistaken(refusal === '' ? 'This call was refused.' : refusal)
      const output = await tool.run(input, call)
      await after?.({ ...seen, output: output.text, isError: output.isError === true })
      return output
    },
  }
}
