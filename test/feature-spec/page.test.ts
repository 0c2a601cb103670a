/** A field for a feature spec in the page: the example, and faults with their lines below the field. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXAMPLE_FEATURE_SPEC as EXAMPLE } from '../../src/core/feature-spec/example.ts'
import { fixture } from '../support/fixtures.ts'
import { openContext, type Server, signedIn, startServer } from '../web/stand.ts'
import { describePage } from '../web/support.ts'

describePage('the page: a feature spec', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([fixture('wants-spec')])
  })
  afterAll(() => server.close())

  test('a button fills in the example; faults are shown below the field, and a good spec starts', async () => {
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/?resolver=wants-spec`)
    const spec = page.getByLabel('Spec')
    const example = page.getByRole('button', { name: 'Start from an example' })
    await example.click()
    expect(await spec.inputValue()).toBe(EXAMPLE)
    await example.waitFor({ state: 'detached' })
    await spec.fill(EXAMPLE.replace('(200 OK)', '(2xx)'))
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    const wrong = page.locator('[data-field="spec"] .field-wrong')
    await wrong.first().waitFor()
    expect(await wrong.allTextContents()).toEqual(['Line 23: "2xx" is not one status. Better: 201 instead of 2xx'])
    // The refusal is over: a text that is filled in before would be sent by it.
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor()
    await spec.fill(EXAMPLE)
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL(/\/instances\/[0-9a-f]{12}\//)
    await page.locator('.instance-line .status[data-status="completed"]').waitFor()
    // The refused check is answered with 422, which the browser writes into its console.
    expect(complaints.filter((complaint) => !complaint.includes('422'))).toEqual([])
    await context.close()
  })
})
