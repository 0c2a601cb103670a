/** Browser steps of real checks: Chromium in the validator's container, a page of the software, what is left as evidence. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { describeWithDocker, removeContainersOf, validatorImage } from '../support/docker.ts'
import { checkStand } from './stand.ts'

/** A form that adds notes to a list; a restart forgets them. */
const SERVER = `
const notes = []
const page = () => '<title>Notes</title><h1>Notes</h1><form method="post"><label>Text <input name="text"></label><button>Add</button></form><ul>' +
  notes.map((note) => '<li>' + note + '</li>').join('') + '</ul>'
require('node:http').createServer((request, response) => {
  let body = ''
  request.on('data', (chunk) => { body += chunk })
  request.on('end', () => {
    if (request.method === 'POST') {
      notes.push(new URLSearchParams(body).get('text').replace(/[<&]/g, ''))
      return response.writeHead(303, { location: '/' }).end()
    }
    response.setHeader('content-type', 'text/html').end(page())
  })
}).listen(process.env.PORT)
`
const NOTES = { 'server.js': SERVER }
const START = ['--start', 'node server.js']
const ADD_MILK = [{ goto: '/' }, { fill: { label: 'Text' }, value: 'Milk' }, { click: { role: 'button', name: 'Add' } }]

describeWithDocker('the browser steps of a reality check', { timeout: 10 * 60_000 }, () => {
  const stand = checkStand(validatorImage())
  const withoutBrowser = checkStand()
  afterAll(async () => {
    await removeContainersOf(stand.home)
    await removeContainersOf(withoutBrowser.home)
  })

  test('a form is filled and sent, and its effect is seen until a restart; a step whose element is not there fails', async () => {
    const criteria = {
      tests: [
        {
          description: 'A note is listed until a restart',
          steps: [
            ...ADD_MILK,
            { expect: { role: 'listitem', count: 1 } },
            { expect: 'Milk' },
            { expect: { title: 'Notes' } },
            { restart: 'software' },
            { goto: '/' },
            { expect: { text: 'Milk', state: 'hidden' } },
          ],
        },
        { description: 'A note can be removed', steps: [...ADD_MILK, { expect: { role: 'button', name: 'Remove' } }] },
      ],
    }
    const { code, document, stderr } = await stand.run(NOTES, criteria, ...START)
    const check = document.check
    const [passed] = check?.report.passed ?? []
    const [failed] = check?.report.failures ?? []
    expect([code, check?.verdict, check?.failure_mode], `${stderr} ${JSON.stringify(check?.report)}`).toEqual([
      11,
      'partial',
      'software',
    ])
    expect(passed).toMatchObject({ test: 'A note is listed until a restart', validator: 'browser', reason: null })
    expect(failed).toMatchObject({ test: 'A note can be removed', validator: 'browser', mode: 'software' })
    expect(failed?.reason).toMatch(/^Step 4: .*Remove/)
    const root = join(stand.home, 'instances', document.instance_id ?? '', 'checks', check?.session_id ?? '')
    for (const { id, screenshots, trace } of [passed, failed].flatMap((result) => result ?? [])) {
      expect(screenshots).toEqual([`screenshots/${id}.png`])
      expect(trace).toBe(`traces/${id}.zip`)
      expect(check?.artifact_paths).toEqual(expect.arrayContaining([...screenshots, trace]))
      expect(
        readFileSync(join(root, `screenshots/${id}.png`))
          .subarray(1, 4)
          .toString(),
      ).toBe('PNG')
      expect(
        readFileSync(join(root, `traces/${id}.zip`))
          .subarray(0, 2)
          .toString(),
      ).toBe('PK')
    }
  })

  test('without Chromium in the image of the validator they are missing, which the sentence explains; the other tests run', async () => {
    const criteria = {
      checks: [{ path: '/', expected_body_contains: 'Notes' }],
      tests: [{ description: 'The page opens', steps: [{ goto: '/' }] }],
    }
    const { code, document, stderr } = await withoutBrowser.run(NOTES, criteria, ...START)
    expect([code, document.check?.verdict, document.check?.failure_mode], stderr).toEqual([
      11,
      'partial',
      'infrastructure',
    ])
    expect(document.check?.report.missing).toMatchObject([
      {
        validator: 'browser',
        mode: 'infrastructure',
        reason: expect.stringContaining('"resolve worker build --validator"'),
      },
    ])
  })
})
