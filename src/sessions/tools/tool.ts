/** What a tool is. A mistake of a model is a result with `isError`; a thrown error is told to it as well. */

export interface ToolOutput {
  text: string
  isError?: boolean
  /** Shown to models that take images. */
  image?: { mediaType: string; bytes: Buffer }
}

export interface Call {
  id: string
  signal: AbortSignal
  /** How long the result may be. */
  maxBytes: number
}

export interface Tool {
  name: string
  description: string
  /** JSON Schema of the input. */
  input: Readonly<Record<string, unknown>>
  /** What writes or runs is called one at a time in a session. */
  effect: 'reads' | 'writes' | 'runs'
  /** Its schema comes from outside: only described to the model, and no input is checked with it here. */
  isForeign?: boolean
  run(input: Record<string, unknown>, call: Call): Promise<ToolOutput>
}

export function told(text: string): ToolOutput {
  return { text }
}

/** The model did something that can't be done; the text says what to do instead. */
export function mistaken(text: string): ToolOutput {
  return { text, isError: true }
}
