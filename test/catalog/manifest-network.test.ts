/** What a manifest may say of its worker's network, and that nothing in it is passed over in silence. */
import { expect, test } from 'vitest'
import { parseManifest } from '../../src/core/catalog/manifest/parse-manifest.ts'

const faultsOf = async (container: Record<string, unknown>) =>
  (await parseManifest({ name: 'a', version: '1.0.0', description: 'One', command: ['a'], container })).errors

test('open, none and an allowlist of hosts are accepted', async () => {
  expect(await faultsOf({ network: 'open' })).toEqual([])
  expect(await faultsOf({ network: 'none' })).toEqual([])
  const egress = [
    'api.example.org',
    '*.example.org',
    'xn--bcher-kva.example',
    'a_b.example.org:8443',
    'example.org:65535',
  ]
  expect(await faultsOf({ network: 'allowlist', egress })).toEqual([])
  expect(await faultsOf({ network: 'allowlist', egress: [] })).toEqual([])
})

test('a list without its network, and a network without its list, are faults', async () => {
  expect(await faultsOf({ egress: ['example.org'] })).toEqual([expect.stringContaining('without network "allowlist"')])
  expect(await faultsOf({ network: 'none', egress: [] })).toHaveLength(1)
  expect(await faultsOf({ network: 'allowlist' })).toEqual([expect.stringContaining('container.egress is missing')])
  expect(await faultsOf({ network: 'host' })).toEqual([expect.stringContaining('container.network must be')])
})

test.each([
  '*',
  '*.org.',
  'org',
  'localhost',
  'EXAMPLE.org',
  'example.org.',
  'https://example.org',
  'example.org/x',
  'a.*.org',
  '*example.org',
  '127.0.0.1',
  '1.2',
  '0x7f.0x1',
  '[::1]',
  '::1',
  'example.org:0',
  'example.org:65536',
  'example.org:080',
  'example.org:',
  'user@example.org',
  'exämple.org',
  '-a.example.org',
  'a-.example.org',
  `${'a'.repeat(64)}.example.org`,
  `${'a.'.repeat(127)}org`,
  '',
  ' example.org',
  'example.org\n',
])('%s is refused as a host of the allowlist', async (rule) => {
  expect(await faultsOf({ network: 'allowlist', egress: [rule] })).toEqual([
    expect.stringContaining('container.egress[0]'),
  ])
})
