/**
 * Checks a pipeline with all that its folders and managers run (docs/pipelines.md, Child pipelines): what is wrong in any of them, and pipelines that
 * run themselves, before a node runs. Pure: the caller reads the files.
 */
import { posix } from 'node:path'
import { type Diagnostic, Lines } from '../language/diagnostic.ts'
import { type PipelineNode, textOf } from '../language/graph.ts'
import { expand, variablesIn } from '../language/variables.ts'
import { type Checked, checkPipeline } from './check.ts'
import type { Flow } from './flow.ts'

/** How deep pipelines run in each other; the first one counts. */
export const FAMILY_DEPTH_MAX = 8
const MEMBERS_MAX = 64

export interface FamilyMember extends Checked {
  source: string
  /** By the id of the node that runs it; absent where the path depends on the run. */
  children: ReadonlyMap<string, string>
}

export interface FamilyDiagnostic extends Diagnostic {
  /** The file that it is found in. Absent for the pipeline itself. */
  file?: string
}

export interface Family {
  /** By path: the pipeline itself, then its children. */
  members: ReadonlyMap<string, FamilyMember>
  diagnostics: FamilyDiagnostic[]
  isRunnable: boolean
}

export interface FamilySource {
  /** Relative to the root of all files, with `/`. */
  path: string
  source: string
  /** Undefined where there is no such file, and for what the caller does not read. */
  read(path: string): string | undefined
  /** Values of variables that are known before the run. */
  lookUp?: (name: string) => string | undefined
}

/** The path in the words of the source; undefined where the node runs no other pipeline. */
export function childPathOf({ graph, handlers }: Flow, node: PipelineNode): string | undefined {
  const handler = handlers.get(node.id)
  const own = textOf(node.attributes, 'dot_file')
  const written =
    handler === 'pipeline'
      ? own
      : handler === 'stack.manager_loop'
        ? (textOf(node.attributes, 'stack.child_dotfile') ?? own ?? textOf(graph.attributes, 'stack.child_dotfile'))
        : undefined
  return written?.trim() === '' ? undefined : written?.trim()
}

/** From the directory of the pipeline that names it. */
export function childFile(parent: string, written: string): string {
  return posix.isAbsolute(written) ? posix.normalize(written) : posix.join(posix.dirname(parent), written)
}

export function checkFamily({ path, source, read, lookUp = () => undefined }: FamilySource): Family {
  const members = new Map<string, FamilyMember>()
  const diagnostics: FamilyDiagnostic[] = []
  const root = posix.normalize(path)

  const add = (at: string, text: string): FamilyMember => {
    const checked = checkPipeline(text)
    const children = new Map<string, string>()
    const member = { ...checked, source: text, children }
    members.set(at, member)
    diagnostics.push(...checked.diagnostics.map((one) => (at === root ? one : { ...one, file: at })))
    for (const node of checked.graph.nodes.values()) {
      const written = childPathOf(checked.flow, node)
      if (written === undefined) continue
      const file = expand(written, lookUp)
      if (variablesIn(file).length === 0) children.set(node.id, childFile(at, file))
    }
    return member
  }
  const tell = (at: string, node: string, rule: string, severity: 'error' | 'warning', message: string) => {
    const where = at === root ? {} : { file: at }
    const member = members.get(at)
    const place = member?.graph.nodes.get(node)?.at
    const lines = member === undefined || place === undefined ? {} : new Lines(member.source).of(place)
    diagnostics.push({ rule, severity, message, node_id: node, ...lines, ...where })
  }
  // Each file is entered once; how deep pipelines run below it is known then.
  const heights = new Map<string, number>()
  const enter = (at: string, text: string, above: readonly string[]): number => {
    const member = add(at, text)
    let height = 1
    for (const [node, child] of member.children) {
      const line = [...above, at]
      if (line.includes(child)) {
        const cycle = [...line.slice(line.indexOf(child)), child].join(' → ')
        tell(at, node, 'child_cycle', 'error', `"${node}" runs a pipeline within itself: ${cycle}.`)
        continue
      }
      const found = members.get(child)?.source ?? read(child)
      if (found === undefined) {
        tell(at, node, 'child_missing', 'warning', `"${node}" runs "${child}", which is not there: the node will fail.`)
        continue
      }
      if (members.size >= MEMBERS_MAX && !members.has(child)) {
        tell(at, node, 'child_count', 'error', `A pipeline may run at most ${MEMBERS_MAX - 1} others.`)
        continue
      }
      const known = heights.get(child)
      if (line.length + (known ?? 1) > FAMILY_DEPTH_MAX) {
        tell(at, node, 'child_depth', 'error', `Below "${node}", pipelines run more than ${FAMILY_DEPTH_MAX} deep.`)
        continue
      }
      height = Math.max(height, 1 + (known ?? enter(child, found, line)))
    }
    heights.set(at, height)
    return height
  }
  enter(root, source, [])
  return { members, diagnostics, isRunnable: diagnostics.every(({ severity }) => severity !== 'error') }
}
