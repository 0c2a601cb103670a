/** What an operator sets for a home: notification targets (C4), schedules (R72) and named secrets (R55). Each room is loaded when it is used. */
import { describeTarget, listTargets } from '../../notify/sender.ts'
import { listSecrets, removeSecret, setSecret } from '../../secrets/secret-store.ts'
import type { NamedSecrets, NotifyTargets, Platform, Schedules } from '../platform.ts'

export function localNotify(home: string): NotifyTargets {
  const targets = () => import('../../notify/targets.ts')
  return {
    list: async () => listTargets(home),
    add: async (request) => describeTarget(await (await targets()).addTarget(home, request)),
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
