/** The icons of the page, drawn in the colour of the text. */

const PATHS = {
  new: 'M12 5v14M5 12h14',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  inbox: 'M4 13l2.5-8h11L20 13v6H4v-6zm0 0h5l1.5 2.5h3L15 13h5',
  box: 'M12 3l8 4.5v9L12 21l-8-4.5v-9L12 3zm0 9l8-4.5M12 12v9M12 12L4 7.5',
  person: 'M12 12a4 4 0 100-8 4 4 0 000 8zm-7 8c1-4 4-5 7-5s6 1 7 5',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'M5 13l4 4L19 7',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  down: 'M12 4v12m0 0l-5-5m5 5l5-5M5 20h14',
  chevron: 'M8 10l4 4 4-4',
  pencil: 'M4 20l1-4L16 5l3 3L8 19z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
