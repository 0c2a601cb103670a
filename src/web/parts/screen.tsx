/** The common part of every screen: the title, also of the window, which gets the focus when the user navigates to the screen. */
import { type ReactNode, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { setScreenTitle } from './window-title.ts'

let cameFrom: string | undefined

interface ScreenProps {
  title: string
  /** Content next to the title. */
  beside?: ReactNode
  /** Drawn instead of the plain title. */
  heading?: ReactNode
  /** Navigating between screens with the same `place` does not move the focus. */
  place?: string
  children: ReactNode
}

export function Screen({ title, beside, heading, place, children }: ScreenProps) {
  const [path] = useLocation()
  const here = place ?? path
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    setScreenTitle(title)
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
