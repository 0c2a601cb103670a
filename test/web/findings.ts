/** What axe finds on a page: the accessibility of each screen, in words. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Finding {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

/** `part`: a selector; without it the whole page. */
export async function findings(page: Page, part?: string): Promise<string[]> {
  // In the middle of a transition a colour is neither the old one nor the new one.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))',
  )
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate(
    `axe.run({ exclude: [['iframe']]${part === undefined ? '' : `, include: [['${part}']]`} }, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] })`,
  )) as { violations: Finding[] }
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`),
  )
}
