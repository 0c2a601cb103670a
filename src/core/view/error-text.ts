/** The error of an instance in one sentence, with the file and line of the author's code where they are known. Pure. */
import { fail } from '../errors.ts'
import type { InstanceError } from '../protocol/instance.ts'

export function errorText({ detail, place }: InstanceError): string {
  return place === undefined ? detail : `${detail} (${place})`
}

/** What a person must set before the same run can succeed; undefined where a setting is not the cause. */
export function settingHint(error: { code: string } | null): string | undefined {
  if (error?.code === 'budget_exceeded') return fail('budget_exceeded', { budget: 0, spent: 0 }).hint
  if (error?.code !== 'repo_auth_failed') return undefined
  return fail('repo_auth_failed', { repo: '', url: '', has_token: false }).hint
}
