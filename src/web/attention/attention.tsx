/** Makes open questions seen on every screen: number in title and icon, a polite announcement, a notification if it was turned on. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { instancesQuery, WAITING } from '../api/queries.ts'
import { setWaitingInTitle } from '../parts/window-title.ts'
import { type Asked, askedIn, iconAddress, newlyAsking, newsText, questionsIn } from './news.ts'
import { notify } from './notify.ts'

export function Attention() {
  const records = useQuery({
    ...instancesQuery({ status: WAITING, limit: 100 }),
    // A hidden page is the one whose title is looked at.
    refetchIntervalInBackground: true,
    refetchInterval: () => (document.visibilityState === 'hidden' ? 10_000 : 2_000),
  }).data?.records
  const before = useRef<Asked | undefined>(undefined)
  const [said, setSaid] = useState('')
  const [, go] = useLocation()
  const questions = questionsIn(records ?? [])
  useEffect(() => {
    setWaitingInTitle(questions)
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
    if (icon !== null) icon.href = questions === 0 ? '/icon.svg' : iconAddress(questions)
  }, [questions])
  useEffect(() => {
    if (records === undefined) return
    const asking = newlyAsking(before.current, records)
    before.current = askedIn(records)
    const [first] = asking
    if (first === undefined) return
    const text = newsText(asking)
    setSaid(text)
    notify(text, () => go(asking.length === 1 ? `/instances/${first.instance_id}` : '/inbox'))
  }, [records, go])
  // Signed out: nothing waits for this user any more.
  useEffect(() => () => setWaitingInTitle(0), [])
  return (
    <div className="out-of-sight" role="status" aria-live="polite" data-news="">
      {said}
    </div>
  )
}
