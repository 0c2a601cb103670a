/** The text of a page: Markdown of HTML, other text as it is. {@link file://./../tools/fetch.ts} calls it. */
import { Worker } from 'node:worker_threads'
import { MARKDOWN_LIMIT_MS, MARKDOWN_MEMORY_MB, MARKDOWN_START_LIMIT_MS } from '../../core/limits.ts'
import type { Page } from './get-page.ts'
import { stripTags } from './strip-tags.ts'

/** undefined where it is no text. */
export async function pageText(page: Page, signal: AbortSignal): Promise<string | undefined> {
  const { type, bytes } = page
  if (bytes.subarray(0, 8_000).includes(0) || !TEXTUAL.test(type)) return undefined
  const text = decoded(page)
  const isHtml = type === 'text/html' || type === 'application/xhtml+xml'
  return isHtml ? ((await toMarkdown(text, page.url, signal)) ?? stripTags(text)) : text
}

const TEXTUAL =
  /^$|^text\/|^application\/(?:json|xml|javascript|ecmascript|x-ndjson|yaml|x-yaml|toml|x-sh|sql|graphql)$|[+](?:json|xml|yaml)$/

function decoded({ type, charset, bytes }: Page): string {
  const told = charset ?? (type === 'text/html' ? META.exec(bytes.toString('latin1', 0, 1_024))?.[1] : undefined)
  try {
    return new TextDecoder(told ?? 'utf-8').decode(bytes)
  } catch {
    // No known name.
    return new TextDecoder().decode(bytes)
  }
}

const META = /<meta[^>]{0,200}charset=["']?([A-Za-z0-9_-]{1,40})/i

/**
 * Runs {@link file://./markdown-worker.ts} in a thread: a hostile page can keep a converter busy for minutes, or overflow its stack. undefined
 * where it did not come to an end.
 */
async function toMarkdown(html: string, url: string, signal: AbortSignal): Promise<string | undefined> {
  const program = import.meta.url.endsWith('.ts') ? './markdown-worker.ts' : '../sdk/markdown-worker.js'
  const worker = new Worker(new URL(program, import.meta.url), {
    workerData: { html, url },
    resourceLimits: { maxOldGenerationSizeMb: MARKDOWN_MEMORY_MB },
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  })
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const give = () => resolve(undefined)
  let timer = setTimeout(give, MARKDOWN_START_LIMIT_MS)
  signal.addEventListener('abort', give, { once: true })
  worker.on('message', (told: unknown) => {
    if (typeof told === 'string') return resolve(told)
    // It has loaded, and begins with the page.
    clearTimeout(timer)
    timer = setTimeout(give, MARKDOWN_LIMIT_MS)
  })
  worker.once('error', give)
  worker.once('exit', give)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', give)
    await worker.terminate()
  }
}
