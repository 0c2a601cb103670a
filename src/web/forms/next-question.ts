/** Moves the focus after an answer: to the next open question of the screen, else the event `resolve:answered` says that there is none. */

const CARDS = '[data-request-id]'

/** Sent on the document with `{ instance, request }`; a screen that shows its questions one at a time listens to it. */
export const ANSWERED = 'resolve:answered'

/** The index of the card to go to after the one at `at` of `count`: the one below, else the first; -1 where it was the only one. */
export function nextCard(at: number, count: number): number {
  if (count < 2) return -1
  return at + 1 < count ? at + 1 : 0
}

/** `card`: the answered one, which is still drawn. */
export function focusAfterAnswer(card: Element | null, detail: { instance: string; request: string }): void {
  const isElsewhere =
    card === null || !(card.contains(document.activeElement) || document.activeElement === document.body)
  const cards = [...document.querySelectorAll<HTMLElement>(CARDS)].filter((one) => one.querySelector('form') !== null)
  const next = cards[nextCard(card === null ? -1 : cards.indexOf(card as HTMLElement), cards.length)]
  // The user went on by hand.
  if (!isElsewhere)
    (next?.querySelector<HTMLElement>('input, textarea, select, button[type="submit"]') ?? title())?.focus()
  document.dispatchEvent(new CustomEvent(ANSWERED, { detail }))
}

function title(): HTMLElement | null {
  return document.querySelector<HTMLElement>('main h1')
}
