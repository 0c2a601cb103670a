/**
 * Works on a task with a model and tools, in a clone or in a new repository, shows what it did, and delivers it when a person agrees: what a
 * newcomer with a key of an LLM provider runs first (docs/sessions.md, The resolver agent).
 */
import {
  type Context,
  checkbox,
  numeric,
  optional,
  or,
  regex,
  required,
  resolver,
  type Session,
  select,
  text,
  textarea,
} from '../../sdk/index.ts'
import { createPull } from '../change/pull.ts'
import { INSTRUCTIONS } from './instructions.ts'
import { progressTool } from './progress.ts'
import { type Report, readReport } from './report.ts'
import { type Change, changeOf, commitAll, FILE_MAX_BYTES, openNew, type WorkTree } from './work-tree.ts'

let session: Session | undefined
/** What consumers said before the session was open. */
const early: string[] = []

resolver({
  phases: ['working', 'reviewing', 'delivering'],

  params: (filled) => ({
    task: textarea({ label: 'Task', placeholder: 'Mend the broken links of the README', required: true }),
    repository: text({
      label: 'Repository',
      description:
        'An address, org/app, or a path below RESOLVE_GIT_LOCAL; when empty, the work begins in an empty directory',
      placeholder: 'https://github.com/org/app',
    }),
    branch: isFilled(filled['repository'])
      ? text({ label: 'Begin at', description: 'A branch or tag; the default branch when empty' })
      : undefined,
    model: text({ label: 'Model', description: 'provider/model; RESOLVE_LLM_MODEL of the host when empty' }),
    budget: text({
      label: 'Budget',
      description: 'What the model may cost, in US dollars, by estimate',
      placeholder: '2.50',
      checks: [
        { condition: optional(numeric({ min: 0.01 })), message: 'A budget is a number of dollars, at least 0.01' },
      ],
    }),
    ask: checkbox({ label: 'Ask before delivering', default: true }),
    delivery_mode: isFilled(filled['repository'])
      ? select({
          label: 'Deliver as',
          description:
            'commit: in the clone alone; pull-request: on the git server of the instance; promote: at the repository itself',
          options: ['commit', 'pull-request', 'promote'],
          default: 'pull-request',
        })
      : undefined,
  }),

  workspace: ({ repository = '', branch = '', delivery_mode }) =>
    repository.trim() === ''
      ? null
      : {
          repos: [{ url: repository.trim(), ...(branch.trim() === '' ? {} : { branch: branch.trim() }) }],
          ...(delivery_mode === 'commit' ? {} : { git_server: true }),
        },

  messages: {
    steer: {
      label: 'Tell the agent',
      description: 'The model reads it before its next step',
      fields: { text: textarea({ label: 'Message', required: true }) },
      when: (state) => state['phase'] === 'working',
      on({ text }) {
        if (session === undefined) early.push(text)
        else session.steer(text)
      },
    },
  },

  async run(ctx) {
    const { params, signal } = ctx
    // A run that is lost can go on: what was done is in the transcript.
    ctx.checkpoint.save({})
    ctx.phase('working')
    const { model = '', budget = '' } = params
    const opened = await ctx.sessions.create('work', {
      cwd: ctx.workingDirectory,
      instructions: INSTRUCTIONS,
      ownTools: { progress: progressTool((line) => ctx.progress(line)) },
      ...(model.trim() === '' ? {} : { model: model.trim() }),
      ...(budget.trim() === '' ? {} : { limits: { usd: Number(budget) } }),
    })
    session = opened
    for (const text of early.splice(0)) session.steer(text)

    const [clone] = ctx.workspace
    const tree: WorkTree =
      clone === undefined
        ? await openNew(ctx.workingDirectory, signal)
        : { path: clone.path, branch: clone.branch, start: clone.commit }
    const changeSoFar = async () => {
      const change = await changeOf(tree, signal)
      if (change.patch !== undefined) await ctx.data.write('change.diff', change.patch)
      return change
    }
    let prompt = params.task
    let cost = 0
    for (let round = 1; ; round += 1) {
      const { output, cost_usd } = await opened.run(prompt).catch(async (error: unknown) => {
        // Over its budget, for example: what was done until then can be read.
        if (!signal.aborted) await changeSoFar().catch(() => {})
        throw error
      })
      cost += cost_usd ?? 0
      const report = readReport(output, params.task)
      const change = await changeSoFar()
      await ctx.data.write('summary.md', `# ${report.text}\n`)
      if (!params.ask) return await deliver(ctx, tree, report, change)
      ctx.phase('reviewing')
      const { decision, message = '' } = await ctx.ask(`review-${round}`, reviewOf(report, change, cost), REVIEW)
      if (decision === 'deliver') return await deliver(ctx, tree, report, change)
      if (decision === 'stop') return `Not delivered, as you decided. ${report.text}${whereItIs(ctx, change)}`
      ctx.phase('working')
      prompt = message
    }
  },
}).serve()

const REVIEW = {
  decision: select({
    label: 'What now',
    options: [
      { value: 'deliver', label: 'Deliver it' },
      { value: 'go on', label: 'Go on, with this message' },
      { value: 'stop', label: 'Stop, and deliver nothing' },
    ],
    default: 'deliver',
  }),
  message: textarea({
    label: 'Message',
    description: 'What the agent does next, where it goes on',
    checks: [
      { condition: or(regex('^(deliver|stop)$', 'decision'), required()), message: 'Write what the agent does next' },
    ],
  }),
}

const REPORT_SHOWN_CHARS = 4_000

type AgentContext = Pick<Context, 'instanceId' | 'workspace' | 'signal' | 'phase' | 'artifact'> & {
  params: { delivery_mode?: string | undefined }
}

function reviewOf({ text }: Report, change: Change, cost: number): string {
  const isLong = text.length > REPORT_SHOWN_CHARS
  const shown = isLong ? `${text.slice(0, REPORT_SHOWN_CHARS)}… (summary.md has the rest)` : text
  const spent = cost === 0 ? '' : `\n\nThe model has cost about $${cost.toFixed(2)}.`
  return `${shown}\n\n${change.stat === '' ? 'Nothing was changed.' : change.stat}${leftOut(change)}${spent}`
}

/** A person expects what the model says it made. */
function leftOut({ leftOut: names }: Change): string {
  if (names.length === 0) return ''
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  const named = names.slice(0, NAMED_MAX).map((name) => JSON.stringify(name))
  return `\n\nLeft out, because larger than ${FILE_MAX_BYTES / 1024 ** 2} MiB: ${named.join(', ')}${more}.`
}

const NAMED_MAX = 10

/** Again after a pause: what was committed or opened already stays as it is. */
async function deliver(ctx: AgentContext, tree: WorkTree, report: Report, change: Change) {
  const { params, signal } = ctx
  ctx.phase('delivering')
  ctx.artifact('file', 'summary.md')
  if (change.stat === '') return `${report.text}\n\nNothing was changed.${leftOut(change)}`
  if (change.patch !== undefined) ctx.artifact('file', 'change.diff')
  const commit = await commitAll(tree, report, signal)
  const [repo] = ctx.workspace
  const done = `${report.text}${leftOut(change)}\n\nCommitted ${commit.slice(0, 10)} on ${tree.branch}.`
  if (repo === undefined || params.delivery_mode === 'commit') return `${done}${whereItIs(ctx, change)}`

  const isPromoted = params.delivery_mode === 'promote'
  const pull = await createPull(tree.path, { title: report.title, body: report.body, isPromoted }, signal)
  if ('problem' in pull) return { status: 'failed' as const, error: pull.problem }
  ctx.artifact('pr', pull.url, { branch: tree.branch, commit })
  if (isPromoted) return `${done} Its pull request: ${pull.url}`
  const id = ctx.instanceId.slice(0, 8)
  return repo.url.startsWith('file:')
    ? `${done} To fetch it into a clone of yours: resolve instance pull ${id} --into DIR`
    : `${done} To open the pull request at the repository itself: resolve instance promote ${id}`
}

function whereItIs({ instanceId }: AgentContext, { stat, patch }: Change): string {
  if (stat === '' || patch === undefined) return ''
  return `\nThe change: resolve instance data ${instanceId.slice(0, 8)} change.diff | git apply`
}

function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}
