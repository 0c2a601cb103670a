/** Finds the secrets in the config of an instance (R43, R45, R55; threats B9): the host and the sessions of a worker redact the same ones. */
import { textsIn } from '../forms/secret-fields.ts'
import { isObject } from '../primitives/is-object.ts'
import type { InstanceConfig } from '../protocol/instance.ts'

/** The secret values in a config: credentials, passwords in addresses, and the secret fields of the input. */
export function secretsOf(config: InstanceConfig): string[] {
  const { credentials, git_provider: git, sub_container_token: token, llm } = config
  const named = isObject(credentials) ? Object.values(credentials) : []
  const given = secretInputIn(config)
  return [...named, ...given, git?.token, token, passwordIn(git?.base_url), passwordIn(llm?.base_url)]
    .filter((value) => typeof value === 'string')
    .filter((value) => value !== '')
}

/** The resolver can write to its config, so `secret_fields` may be anything. */
function secretInputIn({ params, secret_fields: fields }: InstanceConfig): string[] {
  if (!isObject(params) || !Array.isArray(fields)) return []
  return [...new Set(fields)].flatMap((field) => (Object.hasOwn(params, field) ? textsIn(params[field]) : []))
}

/** The password in `https://user:password@host` is a secret too. */
export function passwordIn(url: string | undefined): string {
  if (typeof url !== 'string' || !URL.canParse(url)) return ''
  const { password } = new URL(url)
  try {
    return decodeURIComponent(password)
  } catch {
    return password
  }
}
