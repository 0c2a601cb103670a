/** Which kind of image bytes begin as: only those that providers take. Pure. */

export function imageType(bytes: Buffer): string | undefined {
  const begins = (text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text
  if (begins('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begins('\xff\xd8\xff')) return 'image/jpeg'
  if (begins('GIF87a') || begins('GIF89a')) return 'image/gif'
  return begins('RIFF') && begins('WEBP', 8) ? 'image/webp' : undefined
}
