/** What an operator sets for a home: notification targets (C4), schedules (R72) and named secrets (R55). Each room is loaded when it is used. */
import { fail } from '../../errors.ts'
import { describeTarget, listTargets } from '../../notify/sender.ts'
import { nearestDetail } from '../../primitives/nearest.ts'
import { listSecrets, removeSecret, setSecret } from '../../secrets/secret-store.ts'
import type { NamedSecrets, NotifyTargets, Platform, Schedules } from '../platform.ts'

/** `platform` says which resolvers there are. */
export function localNotify(home: string, platform: Pick<Platform, 'resolvers'>): NotifyTargets {
  const targets = () => import('../../notify/targets.ts')
  return {
    list: async () => listTargets(home),
    add: async (request) => {
      // A misspelt name would never be told of anything.
      if (typeof request.resolver === 'string') await requireResolver(platform, request.resolver)
      return describeTarget(await (await targets()).addTarget(home, request))
    },
    remove: async (name) => describeTarget(await (await targets()).removeTarget(home, name)),
    test: async (name) => {
      const [{ findTarget }, { testNotice }, { sendNotice }] = await Promise.all([
        targets(),
        import('../../notify/notices.ts'),
        import('../../notify/send.ts'),
      ])
      const error = await sendNotice(home, findTarget(home, name), testNotice(new Date()))
      return { delivered: error === undefined, error: error ?? null }
    },
  }
}

/** Also one whose files are damaged has a name. Throws `resolver_unknown`. */
async function requireResolver(platform: Pick<Platform, 'resolvers'>, name: string): Promise<void> {
  const names = (await platform.resolvers()).map((entry) => entry.name)
  if (!names.includes(name)) throw fail('resolver_unknown', { name: name.slice(0, 80), ...nearestDetail(name, names) })
}

/** `platform` checks the input of a new schedule. */
export function localSchedules(home: string, platform: Pick<Platform, 'resolver' | 'check'>): Schedules {
  // It brings the cron library.
  const room = () => import('../../schedule/schedules.ts')
  return {
    list: async () => (await room()).listSchedules(home),
    add: async (request, { actor }) => await (await room()).addSchedule(home, request, actor, platform),
    remove: async (reference) => await (await room()).removeSchedule(home, reference),
    pause: async (reference, paused) => await (await room()).pauseSchedule(home, reference, paused),
  }
}

export function localSecrets(home: string): NamedSecrets {
  return {
    list: async () => listSecrets(home),
    set: async (name, content) => await setSecret(home, name, content),
    remove: async (name) => await removeSecret(home, name),
  }
}
