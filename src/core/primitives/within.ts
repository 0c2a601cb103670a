/**
 * The value of `work`, or undefined after `limitMs`. Throws the error of `work` if it comes in time. The work itself continues;
 * the caller aborts it if it must end. With `ref: false`, waiting does not keep the process alive.
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
