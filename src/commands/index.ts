/** The table of commands by id (`instance:run`), each loaded when it is used. A test compares it with the folders. */

/** A command class as main.ts uses it: constructed with the arguments and run to its end. */
export interface CommandClass {
  new (argv: string[]): { runToEnd(): Promise<number> }
  id: string
  summary?: string | undefined
  aliases: string[]
}

type Load = () => Promise<{ default: CommandClass }>

export const COMMANDS: Readonly<Record<string, Load>> = {
  'instance:run': () => import('./instance/act/run.ts'),
  'instance:list': () => import('./instance/read/list.ts'),
  'instance:show': () => import('./instance/read/show.ts'),
  'instance:watch': () => import('./instance/read/watch.ts'),
  'instance:wait': () => import('./instance/read/wait.ts'),
  'instance:events': () => import('./instance/read/events.ts'),
  'instance:logs': () => import('./instance/read/logs.ts'),
  'instance:transcript': () => import('./instance/read/transcript.ts'),
  'instance:state': () => import('./instance/read/state.ts'),
  'instance:answer': () => import('./instance/act/answer.ts'),
  'instance:message': () => import('./instance/act/message.ts'),
  'instance:pause': () => import('./instance/act/pause.ts'),
  'instance:resume': () => import('./instance/act/resume.ts'),
  'instance:retry': () => import('./instance/act/retry.ts'),
  'instance:rename': () => import('./instance/act/rename.ts'),
  'instance:label': () => import('./instance/act/label.ts'),
  'instance:stop': () => import('./instance/act/stop.ts'),
  'instance:cancel': () => import('./instance/act/cancel.ts'),
  'instance:data': () => import('./instance/read/data.ts'),
  'instance:repos': () => import('./instance/read/repos.ts'),
  'instance:diff': () => import('./instance/read/diff.ts'),
  'instance:pull': () => import('./instance/read/pull.ts'),
  'instance:explain': () => import('./instance/read/explain.ts'),
  'instance:export': () => import('./instance/read/export.ts'),
  'instance:promote': () => import('./instance/act/promote.ts'),
  'instance:prune': () => import('./instance/act/prune.ts'),
  'resolver:add': () => import('./resolver/add.ts'),
  'resolver:list': () => import('./resolver/list.ts'),
  'resolver:show': () => import('./resolver/show.ts'),
  'resolver:schema': () => import('./resolver/schema.ts'),
  'resolver:update': () => import('./resolver/update.ts'),
  'resolver:remove': () => import('./resolver/remove.ts'),
  'pipeline:run': () => import('./pipeline/run.ts'),
  'pipeline:check': () => import('./pipeline/check.ts'),
  'pipeline:show': () => import('./pipeline/show.ts'),
  'pipeline:parse': () => import('./pipeline/parse.ts'),
  'pipeline:handlers': () => import('./pipeline/handlers.ts'),
  'pipeline:list': () => import('./pipeline/list.ts'),
  'check:run': () => import('./check/run.ts'),
  'check:plan': () => import('./check/plan.ts'),
  'spec:check': () => import('./spec/check.ts'),
  'spec:init': () => import('./spec/init.ts'),
  'schedule:add': () => import('./schedule/add.ts'),
  'schedule:list': () => import('./schedule/list.ts'),
  'schedule:remove': () => import('./schedule/remove.ts'),
  'schedule:pause': () => import('./schedule/pause.ts'),
  'schedule:resume': () => import('./schedule/resume.ts'),
  'token:create': () => import('./token/create.ts'),
  'token:list': () => import('./token/list.ts'),
  'token:revoke': () => import('./token/revoke.ts'),
  'secret:set': () => import('./secret/set.ts'),
  'secret:list': () => import('./secret/list.ts'),
  'secret:remove': () => import('./secret/remove.ts'),
  'notify:add': () => import('./notify/add.ts'),
  'notify:list': () => import('./notify/list.ts'),
  'notify:remove': () => import('./notify/remove.ts'),
  'notify:test': () => import('./notify/test.ts'),
  'worker:build': () => import('./worker/build.ts'),
  'worker:prune': () => import('./worker/prune.ts'),
  'git:prune': () => import('./git/prune.ts'),
  'context:list': () => import('./context/list.ts'),
  'context:use': () => import('./context/use.ts'),
  'context:show': () => import('./context/show.ts'),
  'context:remove': () => import('./context/remove.ts'),
  login: () => import('./login.ts'),
  logout: () => import('./logout.ts'),
  inbox: () => import('./inbox.ts'),
  serve: () => import('./serve.ts'),
  doctor: () => import('./doctor.ts'),
  completion: () => import('./completion.ts'),
  run: () => import('./instance/act/run.ts'),
  watch: () => import('./instance/read/watch.ts'),
}

/** Short names of commands; lists of commands leave them out. */
export const SHORT_FORMS: readonly string[] = ['run', 'watch']

export const NOUNS: readonly string[] = [
  'instance',
  'resolver',
  'pipeline',
  'check',
  'spec',
  'token',
  'secret',
  'notify',
  'schedule',
  'context',
  'worker',
  'git',
]

export function commandWords(id: string): string {
  return id.replace(':', ' ')
}
