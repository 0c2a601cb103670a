/** The secrets of a config, which hosts and sessions redact: also where its resolver has written to it. */
import { expect, test } from 'vitest'
import { beginningOf } from '../../src/core/primitives/beginning-of.ts'
import type { InstanceConfig } from '../../src/core/protocol/instance.ts'
import { secretsOf } from '../../src/core/redaction/config-secrets.ts'

const of = (config: object) => secretsOf(config as InstanceConfig)

test('credentials, tokens, passwords in addresses and secret fields; a password that is no percent-encoding stays as it is', () => {
  const config = {
    credentials: { llm_provider_api_key: 'key', other: '' },
    git_provider: { token: 'git-token', base_url: 'https://ada:p%40ss@git.example.org' },
    sub_container_token: 'own-token',
    llm: { base_url: 'https://ada:half%zz@llm.example.org' },
    params: { pin: 1234, nested: { deep: ['text', ''] }, open: 'not secret' },
    secret_fields: ['pin', 'nested', 'missing', '__proto__'],
  }
  expect(of(config).toSorted()).toEqual(['1234', 'git-token', 'half%zz', 'key', 'own-token', 'p@ss', 'text'])
})

test.each([{}, { credentials: 'x', params: [], secret_fields: 7 }, { llm: { base_url: 'no address' } }])(
  'a config that was tampered with: %j',
  (config) => {
    expect(of(config)).toEqual([])
  },
)

test('a text is cut between its characters', () => {
  expect([0, 1, 2, 3, 4, 7].map((bytes) => beginningOf('aü€', bytes))).toEqual(['', 'a', 'a', 'aü', 'aü', 'aü€'])
  expect(beginningOf('ends with \ufffd', 100)).toBe('ends with \ufffd')
})
