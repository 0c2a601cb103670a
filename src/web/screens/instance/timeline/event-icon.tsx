/** An icon for each kind of event, so that a reader finds the kind without reading. */

const PATHS = {
  status: 'M5 12a7 7 0 1014 0 7 7 0 10-14 0',
  worker: 'M6 4h12v6H6zM6 14h12v6H6zM9 7h.01M9 17h.01',
  setup: 'M14 6a4 4 0 004.5 5.3L11 19a2.1 2.1 0 01-3-3l7.700-7.500A4 4 0 0114 6z',
  git: 'M7 5v14M7 12h6a4 4 0 004-4V6M5 5h4M5 19h4M15 5h4',
  question: 'M9 9a3 3 0 116 0c0 2-3 2.500-3 4.500M12 18h.01',
  answer: 'M5 13l4 4L19 7',
  message: 'M4 6h16v10H9l-5 4z',
  session: 'M12 4v3M6 8h12v10H6zM9.500 12v1.500M14.500 12v1.500',
  phase: 'M6 21V4h11l-2 4 2 4H6',
  progress: 'M4 12h11m0 0l-4-4m4 4l-4 4M20 6v12',
  artifact: 'M7 3h7l4 4v14H7zM14 3v4h4',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  own: 'M12 12h.01M7 12h.01M17 12h.01',
} as const

type Kind = keyof typeof PATHS

/** The first prefix that fits. */
const KINDS: readonly (readonly [string, Kind])[] = [
  ['platform.instance.', 'status'],
  ['platform.setup.', 'setup'],
  ['platform.container.', 'setup'],
  ['platform.worker.', 'worker'],
  ['platform.git.', 'git'],
  ['platform.promotion.', 'git'],
  ['platform.input.requested', 'question'],
  ['resolver:input_requested', 'question'],
  ['platform.input.', 'answer'],
  ['resolver:input_', 'answer'],
  ['platform.message.', 'message'],
  ['platform.resolver.session', 'session'],
  ['platform.', 'warning'],
  ['resolver:phase', 'phase'],
  ['resolver:progress', 'progress'],
  ['resolver:health', 'progress'],
  ['resolver:artifact', 'artifact'],
  ['resolver:', 'status'],
]

export function EventIcon({ type }: { type: string }) {
  const kind = KINDS.find(([prefix]) => type.startsWith(prefix))?.[1] ?? 'own'
  return (
    <svg className="icon event-icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false" data-kind={kind}>
      <path d={PATHS[kind]} />
    </svg>
  )
}
