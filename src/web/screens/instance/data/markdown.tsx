/** Renders Markdown of a resolver: without raw HTML, with links that send no referrer, without external images (threats UI-2). */
import ReactMarkdown from 'react-markdown'

export default function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown skipHtml urlTransform={safeUrl} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  )
}

const COMPONENTS: Parameters<typeof ReactMarkdown>[0]['components'] = {
  a: ({ href, children }) =>
    href === undefined || href === '' ? (
      <span>{children}</span>
    ) : (
      <a href={href} target="_blank" rel="noreferrer noopener">
        {children}
      </a>
    ),
  img: ({ alt }) => <span className="quiet">[image{alt === undefined || alt === '' ? '' : `: ${alt}`}]</span>,
}

function safeUrl(url: string): string {
  return /^https?:\/\//i.test(url) ? url : ''
}
