/** What is wrong with a pipeline before it runs. */
import { type Entry, meantOr } from './entry.ts'

export const pipelineErrors = {
  pipeline_missing: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { name: string; nearest?: string }) =>
      `There is no file "${d.name}", and the library has no pipeline of this name.`,
    hint: (d: { nearest?: string }) =>
      meantOr(d.nearest, 'Name a file, a pipeline of "resolve pipeline list", or "-" for stdin.'),
  },
  pipeline_unreadable: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { path: string; reason: string }) => `Can't read ${d.path}: ${d.reason}.`,
  },
  pipeline_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { name: string; errors: readonly string[] }) =>
      d.errors.length === 1
        ? `${d.name} can't run: ${d.errors[0]}`
        : `${d.name} can't run; it has ${d.errors.length} errors.`,
    hint: () => '"resolve pipeline check" shows each with what to write instead.',
  },
  drawing_failed: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { reason: string }) => `Graphviz can't draw the pipeline: ${d.reason}.`,
    hint: () => 'Without --svg the nodes are printed as a list.',
  },
} as const satisfies Record<string, Entry>
