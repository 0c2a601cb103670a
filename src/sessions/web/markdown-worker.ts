/** A thread that makes Markdown of one HTML page: {@link file://./page-text.ts} starts and ends it. */
import { parentPort, workerData } from 'node:worker_threads'
import TurndownService from 'turndown'

/** Told before the page is read. */
const BEGUN = true

const { html, url } = workerData as { html: string; url: string }
const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
service.remove(['script', 'style', 'noscript', 'iframe', 'link', 'meta', 'template', 'object'])
service.remove((node) => /^svg$/i.test((node as unknown as { nodeName: string }).nodeName))
service.addRule('link', {
  filter: 'a',
  replacement: (content, node) => {
    const href = attribute(node, 'href')
    const text = content.trim()
    const target = href !== '' && !href.startsWith('#') && URL.canParse(href, url) ? new URL(href, url) : undefined
    return text === '' || target === undefined || !/^https?:$/.test(target.protocol)
      ? text
      : `[${text}](${target.href})`
  },
})
service.addRule('image', { filter: 'img', replacement: (_, node) => attribute(node, 'alt') })
// What came before is no fault of the page.
parentPort?.postMessage(BEGUN)
parentPort?.postMessage(service.turndown(html))

/** The types of a browser are not known here. */
function attribute(node: unknown, name: string): string {
  return (node as { getAttribute(name: string): string | null }).getAttribute(name) ?? ''
}
