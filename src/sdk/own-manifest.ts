/** Reads the manifest beside the main module, from which the functional form takes its name, version and description. */
import { dirname, join } from 'node:path'
import { fail } from '../core/errors.ts'
import type { Manifest } from '../core/protocol/manifest.ts'
import type { ResolverContract } from './instance/contract.ts'
import { readJsonObject } from './instance/state-file.ts'

/** Searches beside the main module, then in the working directory, which the platform sets to the resolver's folder. */
export function ownManifest(): Partial<Manifest> {
  const main = process.argv[1]
  const beside = main === undefined ? undefined : readJsonObject(join(dirname(main), 'manifest.json'))
  return (beside ?? readJsonObject(join(process.cwd(), 'manifest.json')) ?? {}) as Partial<Manifest>
}

/** Name and version must equal the manifest's (spec, Resolver manifest). Throws `resolver_mismatch`. */
export function checkAgainstManifest(resolver: ResolverContract, registeredName: string | undefined): void {
  const { version } = ownManifest()
  const pairs = [
    { field: 'name', resolver: resolver.name, expected: registeredName },
    { field: 'version', resolver: resolver.version, expected: version },
  ]
  for (const { field, resolver: own, expected } of pairs) {
    if (expected !== undefined && own !== expected) throw fail('resolver_mismatch', { field, resolver: own, expected })
  }
}
