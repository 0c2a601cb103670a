/**
 * Who is signed in: a token in the browser's storage, shared by all pages of this server, and what it opens. A sign-in link's
 * code is taken out of the address before anything else happens, and is worth one token (R38, threats WEB-4).
 */
import { type BodyOf, OPERATIONS, type ResultOf } from '../../core/protocol/api/operations.ts'
import { API } from '../../core/protocol/http.ts'
import { jsonOf, type Problem, problemOf, sentenceOf, unreachable } from './problem.ts'

/** What the token opens. */
export type Who = Omit<ResultOf<'postAuthVerify'>, 'token'>

export type Session =
  | { state: 'checking' }
  /** `notice` says why, where there is something to say. */
  | { state: 'signed-out'; notice: string | null }
  | { state: 'signed-in'; token: string; who: Who }

const KEY = 'resolve.token'

let session: Session = { state: 'checking' }
const listeners = new Set<() => void>()

export function currentSession(): Session {
  return session
}

export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function currentToken(): string | null {
  return session.state === 'signed-in' ? session.token : null
}

/** Called once, before anything is drawn: the code must not stay in the address, not for a moment longer than needed. */
export async function openSession(): Promise<void> {
  addEventListener('storage', (event) => {
    if (event.key === KEY) void resume()
  })
  addEventListener('hashchange', () => void signInByAddress())
  if (!(await signInByAddress())) await resume()
}

/** Throws the {@link Problem} where the token opens nothing. */
export async function signInWith(token: string): Promise<void> {
  const who = await verify({ token })
  keep(token, who)
}

/** `notice`: why, where it was not asked for. */
export function signOut(notice: string | null = null): void {
  localStorage.removeItem(KEY)
  become({ state: 'signed-out', notice })
}

/** The server no longer takes the token. */
export function endSession(token: string): void {
  if (currentToken() !== token) return
  signOut('Your access has ended. Sign in again to go on; what you typed is kept.')
}

/** Whether there was a code. */
async function signInByAddress(): Promise<boolean> {
  const { hash, pathname, search } = location
  const code = new URLSearchParams(hash.slice(1)).get('code')
  if (code === null) return false
  history.replaceState(history.state, '', pathname + search)
  try {
    const { token = '', ...who } = await verify({ code })
    keep(token, who)
  } catch (error) {
    if (localStorage.getItem(KEY) === null) become({ state: 'signed-out', notice: sentenceOf(error) })
    else await resume()
  }
  return true
}

/** Goes on with the stored token, where it still opens something. */
async function resume(): Promise<void> {
  const token = localStorage.getItem(KEY)
  if (token === null) return become({ state: 'signed-out', notice: null })
  if (token === currentToken()) return
  try {
    keep(token, await verify({ token }))
  } catch (error) {
    const { status } = error as Problem
    if (status === 401) return signOut('Your access has ended. Sign in again to go on.')
    become({ state: 'checking' })
    setTimeout(() => void resume(), 1_000)
  }
}

async function verify(proof: BodyOf<'postAuthVerify'>): Promise<ResultOf<'postAuthVerify'>> {
  const { method, path } = OPERATIONS.postAuthVerify
  const response = await fetch(API + path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(proof),
  }).catch(() => {
    throw unreachable()
  })
  if (!response.ok) throw await problemOf(response)
  return await jsonOf('postAuthVerify', response)
}

function keep(token: string, who: Who): void {
  localStorage.setItem(KEY, token)
  become({ state: 'signed-in', token, who })
}

function become(next: Session): void {
  session = next
  for (const listener of listeners) listener()
}
