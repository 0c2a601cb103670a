/** The tool agent: gives a task to a session of its own, with another context, and gets its answer (docs/sessions.md, Agents). */
import { object, type Static, text } from '../../core/schema/schema.ts'
import type { AgentOptions } from '../contract/contract.ts'
import { type Call, mistaken, type Tool, told } from './tool.ts'

export const AGENT_TOOL = 'agent'

const agentInput = object({
  agent: text({ description: 'Which one' }),
  task: text({ minLength: 1, description: 'Everything that it must know: it sees nothing of this conversation' }),
})

/** `delegate` runs the task and gives the answer. */
export function agentTool(
  agents: Readonly<Record<string, AgentOptions>>,
  delegate: (agent: string, task: string, call: Call) => Promise<string>,
): Tool {
  const known = Object.entries(agents).map(([name, { description }]) => `- ${name}: ${description}`)
  return {
    name: AGENT_TOOL,
    description: `Gives a task to an agent with a context of its own, and its answer back. Several calls run side by side.\n${known.join('\n')}`,
    input: agentInput,
    // Its session goes on where it was when the call is made again after a crash.
    effect: 'reads',
    async run(input, call) {
      const { agent, task } = input as Static<typeof agentInput>
      if (!Object.hasOwn(agents, agent))
        return mistaken(`There is no agent "${agent}". There are: ${Object.keys(agents).join(', ')}.`)
      return told(await delegate(agent, task, call))
    },
  }
}
