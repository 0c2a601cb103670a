/**
 * The value of `work`, or undefined once `limitMs` have passed. Throws what `work` throws in time. The work itself goes on:
 * a caller that wants it ended aborts it. With `ref: false` the wait alone does not keep the process alive.
 */
export async function within<T>(
  limitMs: number,
  work: Promise<T>,
  options: { ref?: boolean } = {},
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, limitMs, undefined)
    if (options.ref === false && typeof timer === 'object') timer.unref()
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
