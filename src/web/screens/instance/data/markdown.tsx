/**
 * Renders Markdown of a resolver, with tables and task lists: without raw HTML, with links that send no referrer. Images and relative
 * links are those of the instance's own data files; nothing else is requested (threats UI-2).
 */
import { type ComponentProps, createContext, type ReactNode, useContext, useMemo } from 'react'
import ReactMarkdown from 'react-markdown'
import { Link } from 'wouter'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { dataPathFrom } from './data-address.ts'
import { DataImage } from './data-image.tsx'
import { markdownMore } from './markdown-more.ts'
import { previewKind } from './preview-kind.ts'

/** Where the text stands: relative addresses in it are paths from there. */
export interface MarkdownPlace {
  instance: string
  path: string
  files: readonly DataFile[]
}

const Files = createContext<(address: string) => { instance: string; file: DataFile } | undefined>(() => undefined)

export default function Markdown({ text, place }: { text: string; place?: MarkdownPlace }) {
  const find = useMemo(() => finderOf(place), [place?.instance, place?.path, place?.files])
  return (
    <div className="markdown">
      <Files value={find}>
        <ReactMarkdown skipHtml remarkPlugins={PLUGINS} urlTransform={(url) => url} components={COMPONENTS}>
          {text}
        </ReactMarkdown>
      </Files>
    </div>
  )
}

const PLUGINS: ComponentProps<typeof ReactMarkdown>['remarkPlugins'] = [markdownMore]

function finderOf(place: MarkdownPlace | undefined) {
  const files = new Map((place?.files ?? []).map((file) => [file.path, file]))
  const known = new Set(files.keys())
  return (address: string) => {
    const path = place === undefined ? undefined : dataPathFrom(place.path, address, known)
    const file = path === undefined ? undefined : files.get(path)
    return place === undefined || file === undefined ? undefined : { instance: place.instance, file }
  }
}

const COMPONENTS: ComponentProps<typeof ReactMarkdown>['components'] = {
  a: ({ href, children }) => <Address href={href}>{children}</Address>,
  img: ({ src, alt }) => <Picture src={typeof src === 'string' ? src : ''} alt={alt ?? ''} />,
  input: ({ checked }) => (
    <span className="markdown-task" role="img" aria-label={checked === true ? 'done' : 'not done'}>
      {checked === true ? '☑' : '☐'}
    </span>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div className="sheet" role="region" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  th: ({ children, node: _node, style, ...rest }) => (
    <th scope="col" data-align={style?.textAlign} {...rest}>
      {children}
    </th>
  ),
  td: ({ children, node: _node, style, ...rest }) => (
    <td data-align={style?.textAlign} {...rest}>
      {children}
    </td>
  ),
}

function Address({ href = '', children }: { href: string | undefined; children: ReactNode }) {
  const found = useContext(Files)(href)
  if (found !== undefined) return <Link href={`?file=${encodeURIComponent(found.file.path)}`}>{children}</Link>
  if (!/^https?:\/\//i.test(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  )
}

function Picture({ src, alt }: { src: string; alt: string }) {
  const found = useContext(Files)(src)
  if (found !== undefined && previewKind(found.file.path) === 'image') {
    return <DataImage instance={found.instance} file={found.file} alt={alt} />
  }
  return <span className="quiet">[image{alt === '' ? '' : `: ${alt}`}]</span>
}
