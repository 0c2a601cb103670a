/**
 * Checks and normalises a manifest. Registration, `update` and the authors' tools call it. All faults are reported at once, one
 * sentence each. ajv is loaded only when a manifest is checked, so that everyday commands start without it.
 */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { isObject } from '../../primitives/is-object.ts'
import { nearest } from '../../primitives/nearest.ts'
import { parseEgressRule } from '../../protocol/egress.ts'
import type { Manifest } from '../../protocol/manifest.ts'
import { bundleAddressFault } from './bundle-address.ts'
import { describeFaults, show } from './manifest-faults.ts'
import { CAPABILITIES, MANIFEST_SCHEMA } from './manifest-schema.ts'
import { gitAddressFault } from './source.ts'

export type ParsedManifest =
  | { manifest: Manifest; errors: []; warnings: string[] }
  | { manifest: null; errors: string[]; warnings: string[] }

/**
 * Parses a manifest from an untrusted value (spec, Resolver manifest). Unknown top-level fields are ignored with a warning, so
 * that a manifest of a later version can still be added; a near miss of a known field is a fault, because it is probably a
 * typing error.
 */
export async function parseManifest(value: unknown): Promise<ParsedManifest> {
  const check = await loadChecker()
  const faults = check.validate(value) ? [] : describeFaults(check.validate.errors as ErrorObject[], value)
  const { errors: more, warnings } = isObject(value)
    ? beyondSchema(value, check.isVersion)
    : { errors: [], warnings: [] }
  const errors = [...faults, ...more]
  if (errors.length > 0) return { manifest: null, errors, warnings }
  return { manifest: normaliseManifest(value as Manifest), errors: [], warnings }
}

/** The known fields only, with each capability under its one name (R4). Only for a value that {@link parseManifest} accepted. */
export function normaliseManifest(value: Manifest): Manifest {
  const manifest: Record<string, unknown> = {}
  for (const field of Object.keys(MANIFEST_SCHEMA.properties)) {
    if (field !== '$schema' && Object.hasOwn(value, field)) manifest[field] = value[field as keyof Manifest]
  }
  const wanted = value.capabilities_required
  if (wanted !== undefined) manifest['capabilities_required'] = [...new Set(wanted.map((name) => CAPABILITIES[name]))]
  // A manifest that was normalised before has it already.
  if (wanted?.includes('gitea') || value.gitea === true) manifest['gitea'] = true
  return manifest as unknown as Manifest
}

interface Checker {
  validate: ValidateFunction
  isVersion: (version: string) => boolean
}

let checker: Promise<Checker> | undefined

function loadChecker(): Promise<Checker> {
  checker ??= (async () => {
    // ajv and its formats are CommonJS; a bundle exposes them only as the default export.
    const [{ default: ajvModule }, { default: valid }] = await Promise.all([
      import('ajv/dist/2020.js'),
      import('semver/functions/valid.js'),
    ])
    const ajv = new ajvModule.Ajv2020({ allErrors: true, verbose: true, allowUnionTypes: true, strictTuples: false })
    // semver alone accepts spaces, "v" and "="; only a version that it returns unchanged is valid. It leaves build metadata out.
    return {
      validate: ajv.compile(MANIFEST_SCHEMA),
      isVersion: (version) => valid(version) === version.replace(/\+.*$/, ''),
    }
  })()
  return checker
}

/** Rules that the schema cannot express, or cannot explain well. */
function beyondSchema(
  value: Record<string, unknown>,
  isVersion: Checker['isVersion'],
): { errors: string[]; warnings: string[] } {
  const errors: string[] = []
  const warnings: string[] = []
  const { version, description } = value
  if (typeof version === 'string' && matches('version', version) && !isVersion(version)) {
    errors.push(`version must be a version whose numbers semver can hold; it is ${show(version)}.`)
  }
  if (typeof description === 'string' && matches('description', description) && SECOND_SENTENCE.test(description)) {
    errors.push(`description must be one sentence; it is ${show(description)}.`)
  }
  errors.push(...addressFaults(value))
  if (isObject(value['container'])) errors.push(...networkFaults(value['container']))
  const known = Object.keys(MANIFEST_SCHEMA.properties)
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue
    const meant = nearest(field, known)
    const shown = show(field, 'bare')
    if (meant === undefined || Object.hasOwn(value, meant))
      warnings.push(`${shown} is not a field of this version; it is ignored.`)
    else errors.push(`${shown} is not a field a manifest can have; did you mean ${meant}?`)
  }
  if (Object.hasOwn(value, 'viewport_bundle') && !Object.hasOwn(value, 'viewport_path')) {
    warnings.push('viewport_bundle is not fetched without viewport_path, which names the file in it.')
  }
  return { errors, warnings }
}

/**
 * `egress` without `allowlist` would have no effect, and `allowlist` without `egress` would block everything: both are probably
 * mistakes.
 */
function networkFaults({ network, egress }: Record<string, unknown>): string[] {
  if (network === 'allowlist' && egress === undefined) {
    return ['container.egress is missing; network "allowlist" reaches the hosts that it lists.']
  }
  if (network !== 'allowlist' && egress !== undefined) {
    return ['container.egress has no effect without network "allowlist".']
  }
  if (!Array.isArray(egress)) return []
  return egress.flatMap((rule, at) => {
    const isFault = typeof rule === 'string' && EGRESS_RULE.test(rule) && parseEgressRule(rule) === undefined
    return isFault ? [`container.egress[${at}] must be a valid host with an optional port; it is ${show(rule)}.`] : []
  })
}

const EGRESS_RULE = new RegExp(MANIFEST_SCHEMA.properties.container.properties.egress.items.pattern)

/** A sentence end is a word of three letters or more, a full stop and a capital; "e.g. Docker" is not one. */
const SECOND_SENTENCE = /(?<!\b(?:etc|incl|resp|approx))(?<=[\p{L}\p{N})"'”’]{3})[.!?]\s+["“‘(]?\p{Lu}/u

const GIT_ADDRESS = new RegExp(MANIFEST_SCHEMA.properties.viewport_bundle.pattern)
const BUNDLE_ADDRESS = new RegExp(MANIFEST_SCHEMA.properties.container.properties.bundles.items.pattern)

/** Whether the schema has already reported this value. */
function matches(field: 'version' | 'description', value: string): boolean {
  const { pattern, maxLength } = MANIFEST_SCHEMA.properties[field]
  return value.length <= maxLength && new RegExp(pattern, 'u').test(value)
}

/** What the schema has reported already is not reported again. */
function addressFaults(value: Record<string, unknown>): string[] {
  const container = value['container']
  const listed = isObject(container) ? container.bundles : undefined
  const bundles = Array.isArray(listed) ? listed : []
  return [
    faultOf('viewport_bundle', value['viewport_bundle'], GIT_ADDRESS, gitAddressFault),
    ...bundles.map((bundle, at) => faultOf(`container.bundles[${at}]`, bundle, BUNDLE_ADDRESS, bundleAddressFault)),
  ].filter((fault) => fault !== undefined)
}

function faultOf(field: string, address: unknown, pattern: RegExp, look: (address: string) => string | null) {
  const fault = typeof address === 'string' && pattern.test(address) ? look(address) : null
  return fault === null ? undefined : `${field} can't be used: ${fault}.`
}
