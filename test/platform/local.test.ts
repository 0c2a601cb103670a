import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { installedFile } from '../../src/core/files/installation.ts'
import { openLocalPlatform } from '../../src/core/platform/local/local.ts'
import { instanceIds } from '../../src/core/store/home.ts'
import { soundInstance } from '../support/invariants.ts'
import { FIXTURES, NEEDED, platformContract } from './contract.ts'

let home: string

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'resolve-platform-'))
  const platform = await open()
  const catalog = await platform.catalog()
  for (const name of NEEDED) {
    const copy = join(home, 'sources', name)
    cpSync(join(FIXTURES, name), copy, { recursive: true })
    await catalog.add(copy, { cwd: home })
  }
  await platform.close()
})

afterAll(() => {
  for (const id of instanceIds(home)) soundInstance(home, id)
})

function open() {
  return openLocalPlatform({ home, builtins: dirname(dirname(installedFile('resolvers/hello/resolver.js') as string)) })
}

platformContract(open)
