/** Text files with a view of their own: a table, a difference, a log with colours. All of it is text nodes, in a bounded number. */
import { cleanLine, cleanText } from '../../../../core/view/clean.ts'
import { ansiPieces, hasColours } from './ansi.ts'
import { COLUMNS_MAX, isNumeric, ROWS_MAX, sheetOf } from './csv.ts'
import { diffKinds } from './diff-lines.ts'

const LINES_MAX = 5_000

export function TextView({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <pre className="preview-text" role="region" tabIndex={0} aria-label="Its text">
      {hasColours(text)
        ? ansiPieces(text).map(({ text: piece, look }, at) => (
            <span key={at} className={look}>
              {piece}
            </span>
          ))
        : cleanText(text)}
    </pre>
  )
}

export function SheetView({ text }: { text: string }) {
  const sheet = sheetOf(text)
  if (sheet === undefined) return <TextView text={text} />
  const { head, rows, isCut } = sheet
  const looks = head.map((_, column) => (isNumeric(rows, column) ? 'right' : undefined))
  return (
    <>
      {isCut && (
        <p className="quiet">
          Showing the first {ROWS_MAX} rows and {COLUMNS_MAX} columns.
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <div className="sheet preview-sheet" role="region" tabIndex={0} aria-label="Its rows">
        <table>
          <thead>
            <tr>
              {head.map((cell, column) => (
                <th key={column} scope="col" data-align={looks[column]}>
                  {cleanLine(cell)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, column) => (
                  <td key={column} data-align={looks[column]}>
                    {cleanLine(cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

export function DiffView({ text }: { text: string }) {
  const all = cleanText(text).replace(/\n$/, '').split('\n')
  const lines = all.slice(0, LINES_MAX)
  const kinds = diffKinds(lines)
  return (
    <>
      {all.length > LINES_MAX && <p className="quiet">Showing the first {LINES_MAX} lines.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre className="preview-text preview-diff" role="region" tabIndex={0} aria-label="Its text">
        {lines.map((line, at) => (
          <span key={at} data-line={kinds[at]}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
    </>
  )
}
