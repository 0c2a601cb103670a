/** Notices in place of content: an error, no content, still loading. */
import type { ReactNode } from 'react'
import { sentenceOf } from '../api/problem.ts'

export function Trouble({ error, children }: { error: unknown; children?: ReactNode }) {
  return (
    <div className="notice notice-trouble" role="alert">
      <p>{typeof error === 'string' ? error : sentenceOf(error)}</p>
      {children}
    </div>
  )
}

export function Empty({ children }: { children: ReactNode }) {
  return <div className="notice notice-empty">{children}</div>
}

export function Loading({ what }: { what: string }) {
  return (
    <div className="notice notice-loading" role="status">
      <span className="spinner" aria-hidden="true" /> {what}
    </div>
  )
}
