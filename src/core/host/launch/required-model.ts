/** Whether a resolver that asks for a model gets one: told when an instance is created, and not at the first step of its session. */
import { fail } from '../../errors.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Manifest } from '../../protocol/manifest.ts'
import { needsNoKey } from '../../protocol/session/session.ts'

const MODEL = 'model'

/** The field `model` of the input, else RESOLVE_LLM_MODEL. Throws `model_missing`. */
export function requireModel(manifest: Manifest, input: Payload, env: NodeJS.ProcessEnv = process.env): void {
  if (manifest.capabilities_required?.includes(MODEL) !== true) return
  const { name: resolver } = manifest
  const given = input[MODEL]
  const wanted = typeof given === 'string' ? given.trim() : ''
  const model = wanted === '' ? (env['RESOLVE_LLM_MODEL'] ?? '').trim() : wanted
  if (needsNoKey(model)) return
  if ((env['RESOLVE_LLM_PROVIDER_API_KEY'] ?? '') === '')
    throw fail('model_missing', { resolver, problem: 'there is no key of an LLM provider' })
  if (model === '') throw fail('model_missing', { resolver, problem: 'no model is named' })
}
