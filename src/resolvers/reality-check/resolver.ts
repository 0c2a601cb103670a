/** One reality check as an instance: `resolve check run` creates it, and schedules, notifications and the page work with it as with any other. */
import { resolver, select, text, textarea } from '../../sdk/index.ts'

resolver({
  phases: ['checking'],

  params: {
    software: text({
      label: 'Software',
      description: 'The address of a repository; @ref for a branch, tag or commit',
      placeholder: 'https://github.com/org/app',
      required: true,
    }),
    criteria: textarea({
      label: 'Acceptance criteria',
      description: 'JSON with spec, checks and tests, or plain language',
      placeholder: '{"checks": [{"path": "/health", "expected_status": 200}]}',
      required: true,
    }),
    environment: textarea({
      label: 'Environment',
      description: 'JSON with language, port, build, start; when empty, it is found out',
    }),
    dtu_lifecycle: select({
      label: 'The room afterwards',
      options: ['auto', 'keep', 'destroy'],
      default: 'auto',
    }),
    timeout_seconds: text({ label: 'Time limit', description: 'In seconds; 1200 when empty' }),
  },

  async run(ctx) {
    const { software, criteria, environment = '', dtu_lifecycle, timeout_seconds: seconds = '' } = ctx.params
    ctx.checkpoint.save({})
    ctx.phase('checking')
    const check = await ctx.realityCheck({
      software_path: software,
      acceptance_criteria: criteriaOf(criteria),
      environment: environment.trim() === '' ? {} : (JSON.parse(environment) as Record<string, unknown>),
      dtu_lifecycle,
      ...(seconds.trim() === '' ? {} : { timeout_seconds: Number(seconds) }),
      key: 'check',
    })
    const result = await check.wait()
    await ctx.data.write('report.json', `${JSON.stringify(result, null, 2)}\n`)
    ctx.artifact('file', 'report.json')
    ctx.artifact('verdict', result.verdict ?? 'none', { failure_mode: result.failure_mode })
    const { summary } = result.report
    if (result.verdict === null) return { status: 'failed', error: summary }
    return `${result.verdict}: ${summary}`
  },
}).serve()

/** A JSON object; anything else is plain language. */
function criteriaOf(given: string): string | Record<string, unknown> {
  if (!given.trimStart().startsWith('{')) return given
  return JSON.parse(given) as Record<string, unknown>
}
