/** The home directory, its disk and its journals. */
import type { Entry } from './entry.ts'

export const homeErrors = {
  home_unusable: {
    kind: 'environment',
    http: 507,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't use the home directory ${d.path}: ${d.reason}.`,
    outside: () => "The server can't use its home directory.",
    hint: () => 'Fix its permissions, or set RESOLVE_HOME to another directory.',
  },
  disk_full: {
    kind: 'environment',
    http: 507,
    exit: 10,
    message: (d: { path: string }) => `No space left on the disk of ${d.path}.`,
    outside: () => 'No space left on the server.',
    hint: () => 'Free some space and run the command again. No file was left incomplete.',
  },
  journal_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the journal ${d.path}: ${d.reason}.`,
    outside: () => "The instance's journal can't be read.",
  },
  lock_held: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { path: string }) => `Cannot get the lock ${d.path}: another process has held it for too long.`,
    outside: () => 'Another process of the server has held a lock for too long.',
    hint: () => 'Run the command again. Remove the file only if no other resolve process is running.',
  },
  ownership_lost: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { path: string }) => `Another host owns ${d.path}; this host gives up the instance.`,
    outside: () => 'Another host has taken over the instance.',
  },
} as const satisfies Record<string, Entry>
