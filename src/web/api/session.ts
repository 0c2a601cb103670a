/**
 * The session: the token in the browser's storage, shared by all pages of this server, and what it allows. The code of a sign-in link
 * is removed from the address first, and then exchanged for a token (R38, threats WEB-4).
 */
import { type BodyOf, OPERATIONS, type ResultOf } from '../../core/protocol/api/operations.ts'
import { API } from '../../core/protocol/http.ts'
import { dropKept } from './kept-events.ts'
import { jsonOf, type Problem, problemOf, sentenceOf, unreachable } from './problem.ts'

/** What the token opens. */
export type Who = Omit<ResultOf<'postAuthVerify'>, 'token'>

export type Session =
  | { state: 'checking' }
  /** `notice` is the reason, if there is one to show. */
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

/** Whether the session of this token is still the one of all pages of this browser. */
export function isStillSignedIn(token: string | null): boolean {
  return token !== null && localStorage.getItem(KEY) === token
}

/** Called once, before the first render, so that the code is removed from the address as early as possible. */
export async function openSession(): Promise<void> {
  addEventListener('storage', (event) => {
    if (event.key === KEY) void resume()
  })
  addEventListener('hashchange', () => void signInByAddress())
  if (!(await signInByAddress())) await resume()
}

/** Throws the {@link Problem} if the server refuses the token. */
export async function signInWith(token: string): Promise<void> {
  const who = await verify({ token })
  keep(token, who)
}

/** `notice`: the reason, if the user did not ask for it. */
export function signOut(notice: string | null = null): void {
  localStorage.removeItem(KEY)
  void dropKept()
  become({ state: 'signed-out', notice })
}

/** Ends the session because the server no longer accepts the token. */
export function endSession(token: string): void {
  if (currentToken() !== token) return
  signOut('Your access has ended. Sign in again to continue; the text that you typed is kept.')
}

/** Signs in with a code in the address. Returns whether there was one. */
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

/** Resumes with the stored token, if it is still valid. */
async function resume(): Promise<void> {
  const token = localStorage.getItem(KEY)
  if (token === null) return become({ state: 'signed-out', notice: null })
  if (token === currentToken()) return
  try {
    keep(token, await verify({ token }))
  } catch (error) {
    const { status } = error as Problem
    if (status === 401) return signOut('Your access has ended. Sign in again to continue.')
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
  // What was kept for the user of another token is not shown to this one.
  if (localStorage.getItem(KEY) !== token) void dropKept()
  localStorage.setItem(KEY, token)
  become({ state: 'signed-in', token, who })
}

function become(next: Session): void {
  session = next
  for (const listener of listeners) listener()
}
