/** The session factory that run() is given: this version has no LLM sessions, and says so. */
import { fail } from '../../core/errors.ts'
import type { SessionFactory } from './contract.ts'

export const noSessions: SessionFactory = {
  create: (name) => Promise.reject(fail('sessions_missing', { session: name })),
}
