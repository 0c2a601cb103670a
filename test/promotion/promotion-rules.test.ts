import { expect, test } from 'vitest'
import type { ResolveError } from '../../src/core/errors.ts'
import { gitHosts } from '../../src/core/git/git-hosts.ts'
import { readPatch, withoutSecrets } from '../../src/core/promotion/find-secrets.ts'
import {
  checkAddress,
  checkBranch,
  checkRequest,
  type PromotionRequest,
} from '../../src/core/promotion/promotion-rules.ts'
import { sensitivePaths } from '../../src/core/promotion/sensitive-paths.ts'
import { pushEnd } from '../../src/core/promotion/upstream-git.ts'

const origin = { instance: 'abcdefgh1234', repo: 'gate', workingBranch: 'resolve/gate-abcdefgh' }
const request: PromotionRequest = {
  ...{ by: 'worker', branch: null, target: null, title: 'Mend', body: '', draft: false, update: true },
  allowWorkflows: false,
  seen: null,
  rebase: false,
}

// request, input, outcome: the branch, or the code of the error
const ASKED: readonly [string, Partial<PromotionRequest>, Record<string, unknown>, string][] = [
  ['a worker whose input does not ask for it', {}, {}, 'promotion_not_requested'],
  ['a worker whose input asks for something else', {}, { deliveryMode: 'branch' }, 'promotion_not_requested'],
  ['a worker, without a name', {}, { deliveryMode: 'promote' }, 'resolve/gate-abcdefgh'],
  ['a worker, the branch of the input', { branch: 'fix' }, { deliveryMode: 'promote', branchName: 'fix' }, 'fix'],
  [
    'a worker, another branch',
    { branch: 'other' },
    { deliveryMode: 'promote', branchName: 'fix' },
    'promotion_branch_refused',
  ],
  [
    'a worker, an input that is no name',
    { branch: '-x' },
    { deliveryMode: 'promote', branchName: '-x' },
    'promotion_branch_refused',
  ],
  [
    'a worker, an input that is no text',
    { branch: '1' },
    { deliveryMode: 'promote', branchName: 1 },
    'promotion_branch_refused',
  ],
  ['a consumer, without a name', { by: 'consumer' }, {}, 'resolve/gate-abcdefgh'],
  ['a consumer, another branch', { by: 'consumer', branch: 'other' }, {}, 'other'],
  ['a target that is no branch', { by: 'consumer', target: 'a..b' }, {}, 'promotion_branch_refused'],
  ['no title', { by: 'consumer', title: ' \u0007\n ' }, {}, 'promotion_invalid'],
  ['a long title', { by: 'consumer', title: 'x'.repeat(256) }, {}, 'promotion_invalid'],
  ['a long text', { by: 'consumer', body: 'é'.repeat(33 * 1024) }, {}, 'promotion_invalid'],
]
test.each(ASKED)('%s', (_, more, input, outcome) => {
  const outcomeOf = () => {
    try {
      return checkRequest({ ...request, ...more }, { ...origin, ...input }).branch
    } catch (error) {
      return (error as ResolveError).code
    }
  }
  expect(outcomeOf()).toBe(outcome)
})

test('title and text are cleaned of what a terminal or a page would take for more than text', () => {
  const wanted = checkRequest(
    { ...request, by: 'consumer', title: 'A\u001b[2J\nB\u202e', body: 'a\r\nb\u0000' },
    origin,
  )
  expect(wanted).toMatchObject({ title: 'A B', body: 'a\nb' })
})

test.each([
  ['main', 'stable', 'main', 'default'],
  ['fix', 'fix', 'main', 'target'],
  ['Master', 'stable', 'dev', 'protected'],
  ['gh-pages', 'main', 'main', 'protected'],
])('the branch %s to %s, where %s is the default, is refused', (branch, target, standard, reason) => {
  expect(() => checkBranch(branch, target, standard)).toThrow(reason)
})

test.each(['@', '-x', 'a..b', 'HEAD', 'refs/heads/x', 'a'.repeat(40), 'a\u202eb', '@{-1}', 'a:b', ''])(
  '%j is no branch to promote',
  (branch) => {
    expect(() => checkRequest({ ...request, by: 'consumer', branch }, origin)).toThrow("can't be promoted")
  },
)

test('what the operator forbids since the clone is not promoted', () => {
  const hosts = gitHosts({ RESOLVE_GIT_ALLOW: 'github.com/org/*' })
  expect(() => checkAddress('https://github.com/org/app', hosts)).not.toThrow()
  expect(() => checkAddress('https://github.com/other/app', hosts)).toThrow('RESOLVE_GIT_ALLOW')
})

test('paths that run or decide with the rights of the forge', () => {
  const yes = [
    '.github/workflows/a.yml',
    '.GitHub/Workflows/a.yml',
    '.github/actions/x/action.yml',
    '.github',
    '.gitlab-ci.yml',
    '.gitea/workflows/a.yaml',
    '.forgejo/workflows/a.yaml',
    'azure-pipelines.yml',
    'ci/azure-pipelines-release.yaml',
    'bitbucket-pipelines.yml',
    'CODEOWNERS',
    '.github/CODEOWNERS',
    'docs/CODEOWNERS',
    '.gitmodules',
    '.woodpecker/a.yml',
    'Jenkinsfile',
  ]
  const no = [
    'src/.github/workflows/a.yml',
    '.github/ISSUE_TEMPLATE.md',
    'docs/workflows/a.yml',
    'gitmodules',
    'src/CODEOWNERS',
    'a.yml',
  ]
  expect(sensitivePaths([...yes, ...no])).toEqual(yes)
})

// What git 2.39 prints.
const REF = 'a1:refs/heads/fix'
test.each([
  [`To http://h/r.git\n*\t${REF}\t[new branch]\nDone\n`, '', { kind: 'pushed' }],
  [`To http://h/r.git\n=\t${REF}\t[up to date]\nDone\n`, '', { kind: 'pushed' }],
  [`To http://h/r.git\n+\t${REF}\t1234567...89abcde (forced update)\nDone\n`, '', { kind: 'pushed' }],
  [
    `To http://h/r.git\n!\t${REF}\t[rejected] (stale info)\nDone\n`,
    'error: failed to push some refs',
    { kind: 'moved' },
  ],
  [
    `To http://h/r.git\n!\t${REF}\t[remote rejected] (pre-receive hook declined)\nDone\n`,
    'remote: error: GH013: Repository rule violations found for refs/heads/fix.        \nremote: \u001b[31mReview\u001b[0m it.\nremote: \nerror: failed',
    {
      kind: 'refused',
      words: 'error: GH013: Repository rule violations found for refs/heads/fix. Review it. pre-receive hook declined.',
    },
  ],
  [
    `To http://h/r.git\n!\t${REF}\t[remote rejected] (refusing to allow an OAuth App to create or update workflow \`.github/workflows/a.yml\` without \`workflow\` scope)\nDone\n`,
    '',
    {
      kind: 'refused',
      words:
        'refusing to allow an OAuth App to create or update workflow `.github/workflows/a.yml` without `workflow` scope.',
    },
  ],
  ['', 'fatal: unable to access', { kind: 'refused', words: 'unable to access.' }],
])('what a push says: %#', (stdout, stderr, end) => {
  expect(pushEnd(stdout, stderr)).toEqual(end)
})

test('a patch is read by its columns: added lines keep signs of their own, and no line of a file is a header', () => {
  const log = [
    ...['diff --git a/one b/one', '--- a/one', '+++ b/one', '@@ -1 +1,4 @@ +not added', '-gone'],
    ...['+ x', '+++y', '+diff --git a/x b/x', '+@@ -1 +1 @@', '\\ No newline at end of file'],
    ...['diff --cc two', 'index 1a,2b..3c', '--- a/two', '+++ b/two', '@@@ -1,1 -1,1 +1,2 @@@'],
    ...[' +from theirs', '++ of both', '- gone', '  +kept'],
    ...['diff --cc three', 'index 1a,2b..3c', 'Binary files differ'],
  ].join('\n')
  expect(readPatch(log)).toEqual({
    added: new Map([
      ['one', [' x', '++y', 'diff --git a/x b/x', '@@ -1 +1 @@']],
      ['two', ['from theirs', ' of both']],
    ]),
    whole: new Map([['three', ['3c']]]),
  })
})

test('a path is told without the secret in it', () => {
  const holds = (bytes: Buffer) => bytes.includes('s3cret') || bytes.includes('a/b')
  expect(['x/s3cret-1/y.txt', 'x/y', 'a/b'].map((path) => withoutSecrets(path, holds))).toEqual([
    'x/[redacted]/y.txt',
    'x/y',
    '[redacted]',
  ])
})
