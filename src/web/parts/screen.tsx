/** What every screen has: a title, in the window's too, and the focus on it when it is come to from another screen. */
import { type ReactNode, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'

let cameFrom: string | undefined

interface ScreenProps {
  title: string
  /** What stands beside the title. */
  beside?: ReactNode
  /** What the title stands in for, where it is drawn otherwise. */
  heading?: ReactNode
  /** Screens with the same key are one: going from one to the other keeps the focus. */
  place?: string
  children: ReactNode
}

export function Screen({ title, beside, heading, place, children }: ScreenProps) {
  const [path] = useLocation()
  const here = place ?? path
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · resolve`
  }, [title])
  useEffect(() => {
    if (cameFrom !== undefined && cameFrom !== here) {
      ref.current?.focus({ preventScroll: true })
      scrollTo(0, 0)
    }
    cameFrom = here
  }, [here])
  return (
    <main className="screen" id="main">
      <div className="screen-top">
        <h1 ref={ref} tabIndex={-1}>
          {heading ?? title}
        </h1>
        {beside}
      </div>
      {children}
    </main>
  )
}
