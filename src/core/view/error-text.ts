/** The error of an instance in one sentence, with the file and line of the author's code where they are known. Pure. */
import { fail, type ResolveError } from '../errors.ts'
import type { InstanceError } from '../protocol/instance.ts'

export function errorText({ detail, place }: InstanceError): string {
  return place === undefined ? detail : `${detail} (${place})`
}

/** What a person must set before the same run can succeed; undefined where a setting is not the cause. */
export function settingHint(error: { code: string } | null): string | undefined {
  return SETTINGS[error?.code ?? '']?.().hint
}

const SETTINGS: Readonly<Record<string, (() => ResolveError) | undefined>> = {
  repo_auth_failed: () => fail('repo_auth_failed', { repo: '', url: '', has_token: false }),
  budget_exceeded: () => fail('budget_exceeded', { budget: 0, spent: 0, unit: 'tokens' }),
  sessions_missing: () => fail('sessions_missing', { session: '' }),
  session_model_unknown: () => fail('session_model_unknown', { session: '', problem: '' }),
}
