/** What an operator sets for the home of a server, over HTTP: notification targets, schedules and named secrets. */
import { fail } from '../../errors.ts'
import type { FormCheck } from '../../protocol/form.ts'
import type { NamedSecrets, NewSchedule, NotifyTargets, Schedules } from '../platform.ts'
import { withFields } from './refused-fields.ts'
import type { RemoteHttp } from './remote-http.ts'

type Http = () => Promise<RemoteHttp>

export function remoteNotify(http: Http): NotifyTargets {
  return {
    list: async () => await (await http()).json('getNotify', {}),
    add: async (body) => await (await http()).json('postNotify', { body, act: {} }),
    remove: async (name) => await (await http()).json('deleteNotify', { params: { name }, act: {} }),
    test: async (name) => await (await http()).json('postNotifyTest', { params: { name }, act: {} }),
  }
}

/** `check` judges an input again, to find the fields that a refusal means. */
export function remoteSchedules(http: Http, check: (of: NewSchedule) => Promise<FormCheck>): Schedules {
  return {
    list: async () => await (await http()).json('getSchedules', {}),
    add: async (body) =>
      await withFields(
        async () => await (await http()).json('postSchedules', { body, act: {} }),
        async () => (await check(body)).fields,
      ),
    remove: async (name) => await (await http()).json('deleteSchedule', { params: { name }, act: {} }),
    pause: async (name, paused) =>
      await (await http()).json(paused ? 'postSchedulePause' : 'postScheduleResume', { params: { name }, act: {} }),
  }
}

export function remoteSecrets(http: Http): NamedSecrets {
  return {
    list: async () => await (await http()).json('getSecrets', {}),
    set: async (name, { from, text }) => {
      if (from !== 'value') {
        throw fail('usage', {
          problem: 'A server takes the value of a secret only: set variables and commands on its machine.',
        })
      }
      return await (await http()).json('postSecrets', { body: { name, value: text }, act: {} })
    },
    remove: async (name) => await (await http()).json('deleteSecret', { params: { name }, act: {} }),
  }
}
