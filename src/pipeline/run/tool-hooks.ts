/** `tool_hooks.pre` and `tool_hooks.post`: commands around each call of a tool that the session of a node makes (docs/pipelines.md, Models). */
import type { SessionOptions } from '../../sdk/index.ts'
import { runCommand } from '../../sessions/tools/run-command.ts'
import { textOf } from '../language/graph.ts'
import type { Execution } from '../walks/walk.ts'
import { placeOf } from './node-files.ts'
import type { Run } from './run-parts.ts'
import { attributeOf, expanded } from './texts.ts'

const LIMIT_MS = 60_000
/** The system takes at most 128 KiB for one variable. */
const VALUE_MAX_CHARS = 30_000
const WORDS_MAX_CHARS = 2_000

type Hooks = NonNullable<SessionOptions['hooks']>
type Seen = Parameters<NonNullable<Hooks['before']>>[0]

/** Of the node, else of the graph; undefined for none. In a session that several nodes share they are those of the first. */
export function hooksOf(run: Run, execution: Execution): Hooks | undefined {
  const [pre, post] = ['tool_hooks.pre', 'tool_hooks.post'].map((name) => commandOf(execution, name))
  if (pre === undefined && post === undefined) return undefined
  return {
    ...(pre === undefined ? {} : { before: (call) => refusalBy(run, execution, pre, call) }),
    ...(post === undefined
      ? {}
      : {
          after: async (call) => {
            const { code, said } = await ran(run, execution, post, call, { TOOL_OUTPUT: call.output })
            if (code !== 0) run.ctx.log(`tool_hooks.post of "${execution.node.id}" failed: ${said}`, 'warn')
          },
        }),
  }
}

function commandOf(execution: Execution, name: string): string | undefined {
  const own = attributeOf(execution, name)
  const ofGraph = textOf(execution.scope.flow.graph.attributes, name)
  return own ?? (ofGraph === undefined ? undefined : expanded(ofGraph, execution))
}

async function refusalBy(run: Run, execution: Execution, command: string, call: Seen): Promise<string | undefined> {
  const { code, said } = await ran(run, execution, command, call)
  if (code === 0) return undefined
  return `This call was refused by tool_hooks.pre${said === '' ? '.' : `: ${said}`}`
}

async function ran(
  run: Run,
  { node, ...execution }: Execution,
  command: string,
  { id, tool, input, signal }: Seen,
  more: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; said: string }> {
  let said = ''
  const { code } = await runCommand({
    command,
    cwd: run.ctx.workingDirectory,
    mark: `hook ${placeOf({ node, ...execution })} ${id} ${process.pid}`,
    isOfResolver: true,
    resolveDir: process.env['RESOLVE_DIR'] ?? '',
    sink: {
      push: (chunk: Buffer) => {
        said = `${said}${chunk.toString('utf8')}`.slice(-WORDS_MAX_CHARS)
      },
    },
    environment: environmentOf({
      NODE_ID: node.id,
      TOOL_NAME: tool,
      TOOL_CALL_ID: id,
      TOOL_INPUT: JSON.stringify(input),
      ...more,
    }),
    limitMs: LIMIT_MS,
    signal,
  })
  return { code, said: said.trim() }
}

function environmentOf(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value.slice(0, VALUE_MAX_CHARS).replaceAll('\0', '')]),
  )
}
