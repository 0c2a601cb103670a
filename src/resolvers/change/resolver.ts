/**
 * Changes one file of a repository by a rule, commits the change and, where the input wants it, opens a pull request. A first example of
 * a resolver with a workspace: it needs git and nothing else.
 */
import { length, optional, resolver, select, text, textarea } from '../../sdk/index.ts'
import { commitAll, originOf, patchOf } from './clone.ts'
import { editFile, type Rule } from './edit-file.ts'
import { createPull } from './pull.ts'

const needed = { required: true } as const
const oneLine = [{ condition: optional(length({ max: 200 })), message: 'At most 200 characters' }]

resolver({
  phases: ['editing', 'committing', 'delivering'],

  params: (filled) => ({
    repository: text({ label: 'Repository', placeholder: 'https://github.com/org/app, or org/app', ...needed }),
    branch: text({ label: 'Begin at', description: 'A branch or tag; the default branch when empty' }),
    file: text({ label: 'File', description: 'Its path in the repository', placeholder: 'README.md', ...needed }),
    edit: select({ label: 'Edit', options: ['replace', 'append'], default: 'replace' }),
    search: filled['edit'] === 'append' ? undefined : textarea({ label: 'Text to replace', ...needed }),
    replacement: filled['edit'] === 'append' ? undefined : textarea({ label: 'Replace it with' }),
    addition: filled['edit'] === 'append' ? textarea({ label: 'Text to append', ...needed }) : undefined,
    title: text({ label: 'Title', description: 'Of the commit and the pull request', checks: oneLine }),
    delivery_mode: select({
      label: 'Deliver as',
      description:
        'commit: in the clone alone; pull-request: on the git server of the instance; promote: at the repository itself',
      options: ['commit', 'pull-request', 'promote'],
      default: 'pull-request',
    }),
  }),

  workspace: ({ repository, branch, delivery_mode }) => ({
    repos: [{ url: repository, ...(branch?.trim() ? { branch: branch.trim() } : {}) }],
    ...(delivery_mode === 'commit' ? {} : { git_server: true }),
  }),

  async run(ctx) {
    const { params, signal } = ctx
    const [repo] = ctx.workspace
    if (repo === undefined) return { status: 'failed', error: 'There is no clone: the platform made no workspace' }

    ctx.phase('editing')
    const { file, edit, search = '', replacement = '', addition = '' } = params
    const rule: Rule = edit === 'append' ? { edit, addition } : { edit, search, replacement }
    const edited = await editFile(repo.path, file, rule)
    if ('problem' in edited) return { status: 'failed', error: edited.problem }

    ctx.phase('committing')
    const title = params.title?.trim() || `Change ${file}`
    const commit = await commitAll(repo.path, file, title, signal)
    await ctx.data.write('change.patch', await patchOf(repo.path, signal))
    ctx.artifact('file', 'change.patch', { commit, branch: repo.branch })
    const done = `Committed ${commit.slice(0, 10)} on ${repo.branch}: ${edited.changes} in ${file}.`

    // Without a git server, the remote of the clone is the upstream itself: a worker has no right to push there.
    if ((await originOf(repo.path, signal)) === repo.url) {
      return `${done} The commit is in ${repo.path}, the patch in change.patch: resolve instance data ${ctx.instanceId.slice(0, 8)} change.patch`
    }

    ctx.phase('delivering')
    const isPromoted = params.delivery_mode === 'promote'
    const pull = await createPull(repo.path, { title, body: done, isPromoted }, signal)
    if ('problem' in pull) return { status: 'failed', error: pull.problem }
    ctx.artifact('pr', pull.url, { branch: repo.branch, commit })
    if (isPromoted) return `${done} Its pull request: ${pull.url}`
    if (repo.url.startsWith('file:')) {
      return `${done} To fetch it into a clone of yours: resolve instance pull ${ctx.instanceId.slice(0, 8)} --into DIR`
    }
    return `${done} To open the pull request at the repository itself: resolve instance promote ${ctx.instanceId.slice(0, 8)}`
  },
}).serve()
