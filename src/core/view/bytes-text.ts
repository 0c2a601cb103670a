/** Formats amounts of bytes for people. */
import { GIB, KIB, MIB } from '../limits.ts'

/** `812 B`, `4.0 KiB`, `1.2 MiB`, `3.4 GiB`. */
export function bytesText(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', GIB],
    ['MiB', MIB],
    ['KiB', KIB],
  ] as const) {
    if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`
  }
  return `${bytes} B`
}
