/** Which port software says that it listens on: in its start command, in its example of an environment file, in its code. */
import type { TreeReader } from './tree-reader.ts'

const EXAMPLES = ['.env.example', '.env.sample', '.env.template', '.env.dist', 'example.env', '.env']

/** The port that a command names: `--port 3000`, `-p 3000`, `0.0.0.0:3000`, `PORT=3000`. */
export function portIn(command: string): number | null {
  const named =
    /(?:--(?:server[.-])?port[= ]\s*|\s-[pP][= ]?\s*|\bPORT=|(?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[::\]|--bind|-b|--listen|-l)[:= ]\s*:?)["']?(\d{2,5})\b/.exec(
      command,
    )
  return toPort(named?.[1])
}

/** The port of an example of an environment file. */
export async function portOfExample(tree: TreeReader): Promise<number | null> {
  for (const name of EXAMPLES) {
    const line = /^\s*(?:export\s+)?(?:(?:APP|SERVER|HTTP|API|WEB|NODE|BACKEND)_)?PORT\s*[=:]\s*["']?(\d{2,5})\b/m.exec(
      await tree.text(name),
    )
    const port = toPort(line?.[1])
    if (port !== null) return port
  }
  return null
}

/** The port that code listens on where it names one and no environment variable: `app.listen(4000)`, `port=5000`. */
export function portInCode(code: string): number | null {
  const named = /\.listen\(\s*(\d{2,5})\b|\bport\s*[=:]\s*(\d{2,5})\b|ListenAndServe\(\s*"[^":]*:(\d{2,5})"/i.exec(code)
  return toPort(named?.[1] ?? named?.[2] ?? named?.[3])
}

export function toPort(text: string | undefined): number | null {
  const port = Number(text)
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null
}
