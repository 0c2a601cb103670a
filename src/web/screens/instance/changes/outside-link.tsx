/** A link to a forge, in a new tab and without a referrer. An address that is none of the web stays text. */

export function OutsideLink({ url, children }: { url: string; children: string }) {
  if (!/^https?:\/\//i.test(url)) return <span>{children}</span>
  return (
    <a href={url} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  )
}

export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'the forge'
}
