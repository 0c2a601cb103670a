/** Formats the page of `resolve` without a command: cleaned and coloured for stdout. */
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { standingWord } from '../../core/view/status-words.ts'
import { ageText } from '../../core/view/time-words.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'
import { type OpenQuestion, questionLines } from './inbox.ts'

export interface Overview {
  /** Oldest first. */
  questions: OpenQuestion[]
  /** Instances that have not ended, newest first. */
  running: InstanceRecord[]
  /** The instances that ended last, latest first. */
  finished: InstanceRecord[]
}

const SHOWN = 10

export function overviewLines(output: Output, { questions, running, finished }: Overview, now: number): string[] {
  const paint = (style: 'bold' | 'cyan', text: string) => output.paint(style, text, process.stdout)
  if (questions.length + running.length + finished.length === 0) return greeting(paint)
  const waiting = new Set(questions.map((question) => question.instance_id))
  const up = running.filter((record) => !waiting.has(record.instance_id))
  const next = [
    ...(questions.length > SHOWN ? [commandLine('inbox')] : []),
    ...(up.length > 0 ? [commandLine('watch', up[0]?.instance_id ?? '@last')] : []),
    ...(finished[0]?.status === 'failed' ? [commandLine('instance', 'explain', finished[0].instance_id)] : []),
    commandLine('instance', 'list'),
    commandLine('run'),
  ]
  const sections: [string, string[]][] = [
    [
      'Waiting for you',
      questions.slice(0, SHOWN).flatMap((question) => questionLines(output, question, questions, now)),
    ],
    ['Running', up.slice(0, SHOWN).map((record) => recordLine(output, record, record.created_at, now))],
    ['Ended last', finished.map((record) => recordLine(output, record, record.ended_at ?? record.updated_at, now))],
    ['Next', next.map((command) => `  ${paint('cyan', command)}`)],
  ]
  const full = sections.filter(([, lines]) => lines.length > 0)
  return full.flatMap(([title, lines], at) => [...(at === 0 ? [] : ['']), paint('bold', title), ...lines])
}

function recordLine(output: Output, record: InstanceRecord, since: string, now: number): string {
  const { shape, word, color } = standingWord(record)
  const who = record.name === null ? record.resolver : `${record.resolver} (${record.name})`
  const phase = record.phase === null ? '' : `  ${cleanLine(record.phase)}`
  const status = output.paint(color, `${shape} ${word}`, process.stdout)
  return `${ageText(since, now).padStart(5)}  ${record.instance_id}  ${status}  ${cleanLine(who)}${phase}`
}

function greeting(paint: (style: 'bold' | 'cyan', text: string) => string): string[] {
  const rows = [
    [commandLine('run', 'hello', '-i', 'name=Ada'), 'prints a greeting'],
    [commandLine('run', 'tour'), 'a demo: phases, a question, files'],
    [commandLine('run', 'agent'), 'works on a task with an LLM, and asks before it delivers'],
    ['resolve resolver add FOLDER', 'adds your own resolver'],
  ] as const
  const width = Math.max(...rows.map(([command]) => command.length)) + 3
  return [
    'resolve runs resolvers: programs that work on their own for minutes or hours, ask you when',
    'they need a decision, and keep running when you close the terminal.',
    '',
    paint('bold', 'Try'),
    ...rows.map(([command, what]) => `  ${paint('cyan', command)}${' '.repeat(width - command.length)}${what}`),
    '',
    'More: "resolve --help", "resolve help input".',
  ]
}
