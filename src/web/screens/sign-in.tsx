/** The sign-in screen: accepts a pasted token. The link that `resolve serve` prints signs in without it (R38). */
import { type FormEvent, useState } from 'react'
import { sentenceOf } from '../api/problem.ts'
import { signInWith } from '../api/session.ts'
import { Screen } from '../parts/screen.tsx'

export function SignInScreen({ notice }: { notice: string | null }) {
  const [token, setToken] = useState('')
  const [trouble, setTrouble] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (token.trim() === '' || isBusy) return
    setBusy(true)
    setTrouble(null)
    await signInWith(token.trim()).catch((error: unknown) => setTrouble(sentenceOf(error)))
    setBusy(false)
  }
  const said = trouble ?? notice
  return (
    <div className="sign-in">
      <Screen title="Sign in">
        <p className="quiet">
          Open the link that <code>resolve serve</code> printed when it started, or paste an access token.
        </p>
        {said !== null && (
          <p className="notice notice-trouble" role="alert" id="sign-in-said">
            {said}
          </p>
        )}
        <form className="form" onSubmit={(event) => void submit(event)}>
          <div className="field">
            <label htmlFor="token">Access token</label>
            <input
              id="token"
              type="password"
              autoComplete="off"
              value={token}
              onChange={(event) => setToken(event.target.value)}
              aria-describedby={said === null ? 'token-about' : 'sign-in-said token-about'}
            />
            <p className="field-about" id="token-about">
              <code>resolve token create</code> creates one. It is stored in this browser until you sign out.
            </p>
          </div>
          <div className="form-end">
            <button type="submit" className="button button-main">
              {isBusy ? 'Signing in…' : 'Sign in'}
            </button>
          </div>
        </form>
      </Screen>
    </div>
  )
}
