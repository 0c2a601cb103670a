/** As much of a text as fits into a number of bytes of UTF-8. A character that would be cut is left out. */
export function beginningOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let end = maxBytes
  // The further bytes of a character begin with 10.
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString()
}
