/**
 * How many tokens a model takes and gives in one answer, and whether it takes images: what the price list says, until the provider says otherwise. {@link
 * file://./ask-again.ts} teaches it. Pure.
 */
import {
  SESSION_OUTPUT_LEAST_TOKENS,
  SESSION_OUTPUT_MAX_TOKENS,
  SESSION_WINDOW_LEAST_TOKENS,
  SESSION_WINDOW_RESERVE_TOKENS,
} from '../../core/limits.ts'

export class Bounds {
  #window: number
  #output = SESSION_OUTPUT_MAX_TOKENS
  #showsImages = true

  /** `window`: of the model, as far as it is known. */
  constructor(window: number) {
    this.#window = window
  }

  /** A request and its answer together. */
  get window(): number {
    return this.#window
  }

  /** A request that is longer is made shorter first. */
  get fullAt(): number {
    return this.#window - Math.min(SESSION_WINDOW_RESERVE_TOKENS, this.#window / 4)
  }

  /** How long the answer to a request of `context` tokens may be. */
  outputFor(wanted: number, context: number): number {
    const room = Math.max(SESSION_OUTPUT_LEAST_TOKENS, Math.floor(this.#window - context - SPARE_TOKENS))
    return Math.min(wanted, this.#output, room)
  }

  /** False once the model refused a request with images. */
  get showsImages(): boolean {
    return this.#showsImages
  }

  hideImages(): void {
    this.#showsImages = false
  }

  /** The provider refused a request of `context` tokens, by our count, as too long. */
  learnWindow(said: string, context: number): void {
    // Where both counts differ, ours is too low: what it calls four fifths of this request is shorter in any case.
    const shorter = Math.floor(context * SHORTER)
    this.#window = Math.max(SESSION_WINDOW_LEAST_TOKENS, Math.min(this.#window, windowIn(said) ?? shorter, shorter))
  }

  /** The provider refused `asked` tokens as too long for an answer. False where less can't be asked for. */
  learnOutput(said: string, asked: number): boolean {
    const window = windowIn(said)
    if (window !== undefined && window < this.#window) this.#window = Math.max(SESSION_WINDOW_LEAST_TOKENS, window)
    const told = window === undefined ? outputIn(said, asked) : Math.floor(window / 4)
    const next = told !== undefined && told < asked ? told : Math.floor(asked / 2)
    if (next < SESSION_OUTPUT_LEAST_TOKENS) return false
    this.#output = next
    return true
  }
}

const SHORTER = 0.8
/** What counts of ours leave out: names of roles, marks between messages. */
const SPARE_TOKENS = 500

const NUMBER = String.raw`(\d[\d,_]{2,12})`

/** As providers and servers tell the size of a model's window. */
const WINDOWS = [
  new RegExp(String.raw`maximum context length (?:is|of)\D{0,5}${NUMBER}`, 'i'),
  new RegExp(String.raw`maximum number of tokens allowed\D{0,5}${NUMBER}`, 'i'),
  new RegExp(String.raw`context (?:window|length|size|limit)(?: is| of|:)?\D{0,20}${NUMBER}(?![\d,_]| *\+)`, 'i'),
  new RegExp(`tokens? *> *${NUMBER}`, 'i'),
  new RegExp(`context limit:[^>]{0,40}> *${NUMBER}`, 'i'),
  new RegExp(`${NUMBER} maximum context`, 'i'),
]

export function windowIn(said: string): number | undefined {
  for (const pattern of WINDOWS) {
    const found = numberOf(pattern.exec(said)?.[1])
    if (found !== undefined && found >= SESSION_WINDOW_LEAST_TOKENS) return found
  }
  return undefined
}

/** The largest number that is below what was asked for: ranges and limits are told in many ways. */
function outputIn(said: string, asked: number): number | undefined {
  const numbers = [...said.matchAll(/\d[\d,_]{2,12}/g)].flatMap(([text]) => numberOf(text) ?? [])
  const below = numbers.filter((one) => one < asked && one >= SESSION_OUTPUT_LEAST_TOKENS)
  if (below.length === 0) return undefined
  return Math.max(...below) - (/exclusive/i.test(said) ? 1 : 0)
}

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text?.replace(/[,_]/g, ''))
  return Number.isSafeInteger(value) ? value : undefined
}
