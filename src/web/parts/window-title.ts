/** The title of the window: the number of open questions, then the title of the screen. */

let screen = ''
let waiting = 0

/** As it is shown in a tab of the browser, where only the beginning may fit. */
export function titleText(title: string, questions: number): string {
  const name = title === '' ? 'resolve' : `${title} · resolve`
  return questions > 0 ? `(${questions}) ${name}` : name
}

export function setScreenTitle(title: string): void {
  screen = title
  document.title = titleText(screen, waiting)
}

export function setWaitingInTitle(questions: number): void {
  waiting = questions
  document.title = titleText(screen, waiting)
}
