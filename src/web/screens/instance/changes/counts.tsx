/** Added and deleted lines: with a sign, a colour, and words for screen readers. */

export function Counts({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className="counts">
      {additions > 0 && (
        <span className="count-added">
          +{additions.toLocaleString('en')}
          <span className="out-of-sight"> added</span>
        </span>
      )}{' '}
      {deletions > 0 && (
        <span className="count-deleted">
          −{deletions.toLocaleString('en')}
          <span className="out-of-sight"> deleted</span>
        </span>
      )}
    </span>
  )
}
