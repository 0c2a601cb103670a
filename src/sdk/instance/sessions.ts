/** The session factory that run() gets. This version has no LLM sessions; its calls throw. */
import { fail } from '../../core/errors.ts'
import type { SessionFactory } from './contract.ts'

export const noSessions: SessionFactory = {
  create: (name) => Promise.reject(fail('sessions_missing', { session: name })),
}
