/** Formats what `resolver add` shows before it adds a source: everything that will run, and where. */
import type { AddPlan } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'
import type { Output } from '../output/output.ts'

export function planLines(output: Output, plan: AddPlan): string[] {
  const { container, replaces } = plan
  const lines = [
    output.paint('bold', `${plan.name} ${plan.version}`),
    `  ${cleanLine(plan.description)}`,
    row('source', `${plan.source}${plan.commit === null ? '' : ` at ${plan.commit}`}`),
    row('runs', words(plan.command)),
  ]
  if (container !== null) {
    lines.push(row('in container', words(container.command)))
    for (const command of container.setup_commands) lines.push(row('setup, as root', command))
    for (const mount of container.volume_mounts) lines.push(row('mount', JSON.stringify(mount)))
    for (const bundle of container.bundles) lines.push(row('bundle', bundle))
  }
  for (const capability of plan.capabilities) lines.push(row('capability', capability))
  if (plan.viewport_bundle !== null) lines.push(row('viewport', plan.viewport_bundle))
  if (replaces !== null) lines.push(row('replaces', `${replaces.version} from ${replaces.source}`))
  for (const warning of plan.warnings) lines.push(output.paint('yellow', `  ${cleanLine(warning)}`))
  return lines
}

function row(label: string, value: string): string {
  return `  ${label.padEnd(15)}${cleanLine(value)}`
}

function words(command: readonly string[]): string {
  return command.map((word) => (/\s/.test(word) ? JSON.stringify(word) : word)).join(' ')
}
