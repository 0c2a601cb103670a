/** Replaces a file that only its owner may read; the command line stores its config with it. */
import { writeWhole } from './write-whole.ts'

/** Whole or not at all, and durable. Throws the system's error. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await writeWhole(path, text, { mode: 0o600, durable: true })
}
