/** Reading strangers' bundles on the host (docs/sessions.md, Bundles; threats): their YAML holds a thread, and not the host. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { surveyBundles } from '../../src/core/bundles/fetch/survey.ts'

let dir: string

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'resolve-survey-'))
  for (let i = 0; i < 6; i += 1) {
    mkdirSync(join(dir, 'skills', `s${i}`), { recursive: true })
    // Each comma is a fault for the parser: 16 KiB of them take half a second.
    writeFileSync(join(dir, 'skills', `s${i}`, 'SKILL.md'), `---\n[${','.repeat(16_000)}]\n---\nbody\n`)
  }
})

afterAll(() => rmSync(dir, { recursive: true, force: true }))

const request = () => ({ places: [{ name: 'hostile', path: dir, subdirectory: '' }], known: new Map() })

test('YAML that takes seconds to be parsed does not hold up the process', async () => {
  const shares: number[] = []
  // In one thread, the longest turn would be nearly all of it, at each try. A busy machine holds up one of them.
  for (let tries = 0; tries < 5 && !shares.some((share) => share < 1 / 3); tries += 1) {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    const begun = performance.now()
    delay.enable()
    const { wanted, notes } = await surveyBundles(request(), new AbortController().signal)
    delay.disable()
    shares.push(delay.max / 1e6 / (performance.now() - begun))
    expect(wanted).toEqual([])
    expect(notes.length).toBeGreaterThan(0)
  }
  expect(Math.min(...shares)).toBeLessThan(1 / 3)
})

test('what takes longer than its limit is refused by name, and a stop ends it at once', async () => {
  const late = surveyBundles(request(), new AbortController().signal, 100)
  await expect(late).rejects.toMatchObject({ code: 'bundle_failed', details: { bundle: 'hostile' } })
  const stop = new AbortController()
  const stopped = surveyBundles(request(), stop.signal)
  stop.abort(new Error('stopped'))
  await expect(stopped).rejects.toThrow('stopped')
})
