import { expect, test } from 'vitest'
import { fail } from '../../src/core/errors.ts'
import { answerOf, refusalOf, workerRequest } from '../../src/core/promotion/worker-promotion.ts'

test('the body of a worker is a request with few rights', () => {
  expect(workerRequest({ pr_title: 'A', allow: ['workflows'], by: 'consumer' })).toEqual({
    ...{ by: 'worker', branch: null, target: null, title: 'A', body: '', draft: false, update: true },
    allowWorkflows: false,
    seen: null,
    rebase: false,
  })
  const whole = { pr_title: 'A', pr_body: 'b', branch: 'fix', target_branch: 'dev', draft: true, update: false }
  expect(workerRequest(whole)).toMatchObject({ branch: 'fix', target: 'dev', body: 'b', draft: true, update: false })
})

test.each([null, [], 'x', {}, { pr_title: 1 }, { pr_title: 'A', branch: ['x'] }, { pr_title: 'A', draft: 'yes' }])(
  '%j is refused',
  (body) => {
    expect(() => workerRequest(body)).toThrow('its body does not fit')
  },
)

test('a worker gets the pull request and what was found, or the code of the error without paths of the host', () => {
  const found = {
    ...{ commit: 'c', targetCommit: 't', mergeBase: 'm', ahead: 1, behind: 2, conflicts: ['a'] },
    ...{ files: 1, additions: 1, deletions: 0, bytes: 9, sensitive: [], secrets: [] },
  }
  const done = {
    pr_url: 'https://h/1',
    number: 1,
    branch: 'fix',
    target_branch: 'main',
    commit: 'c',
    created: true,
    found,
  }
  expect(answerOf(done)).toEqual({
    status: 200,
    body: {
      ...{
        success: true,
        pr_url: 'https://h/1',
        number: 1,
        branch: 'fix',
        target_branch: 'main',
        commit: 'c',
        created: true,
      },
      ...{ behind: 2, conflicts: ['a'] },
    },
  })
  expect(refusalOf(fail('promotion_not_requested', {}))).toEqual({
    status: 409,
    body: { success: false, code: 'promotion_not_requested', message: 'Promotion was not requested.' },
  })
  const broken = refusalOf(fail('promotions_broken', { path: '/home/ada/x', reason: 'it is no JSON' }))
  expect(JSON.stringify(broken)).not.toContain('/home')
  expect(refusalOf(new TypeError('x'))).toMatchObject({ status: 500, body: { code: 'bug' } })
})
