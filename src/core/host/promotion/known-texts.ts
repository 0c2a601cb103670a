/** The secrets of an instance that no host has in memory: what a promotion of an ended instance searches for. */

import { knownSecrets } from '../../secrets/secret-store.ts'
import { secretsOfHost } from '../ingest/secrets.ts'
import { sealedTexts } from '../launch/sealed-payloads.ts'
import type { Ledger } from '../ledger/ledger.ts'

export function hideKnown(home: string, ledger: Ledger): void {
  const { secrets } = ledger.story.creation.resolver.manifest
  const named = Object.values(knownSecrets(home, secrets)).filter((value) => value !== '')
  ledger.hide([...named, ...secretsOfHost(), ...sealedTexts(home, ledger)])
}
