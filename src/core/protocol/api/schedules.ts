/** Operations on schedules (R72). */

import { listOf } from '../../schema/schema.ts'
import { type Operation, RESOLVER_TROUBLE } from './operation.ts'
import { newSchedule, schedule } from './schedule.ts'

const one = { 200: { description: 'The schedule', json: schedule } } as const

export const SCHEDULE_OPERATIONS = {
  getSchedules: {
    method: 'GET',
    path: '/schedules',
    scope: 'read',
    tag: 'schedules',
    summary: 'List the schedules',
    answers: { 200: { description: 'In the order in which they were added', json: listOf(schedule) } },
    refuses: ['schedules_broken'],
  },
  postSchedules: {
    method: 'POST',
    path: '/schedules',
    scope: 'admin',
    tag: 'schedules',
    summary: 'Add a schedule',
    description: 'The input is checked against the form where the resolver can be asked.',
    body: newSchedule,
    answers: { 200: { description: 'The schedule, stored on disk', json: schedule } },
    refuses: [
      ...([
        'schedule_invalid',
        'schedule_taken',
        'schedule_secret',
        'schedule_unchecked',
        'schedules_broken',
        'form_invalid',
      ] as const),
      ...(['resolver_unknown', 'lock_held', ...RESOLVER_TROUBLE] as const),
    ],
  },
  deleteSchedule: {
    method: 'DELETE',
    path: '/schedules/{name}',
    scope: 'admin',
    tag: 'schedules',
    summary: 'Remove a schedule; its instances go on',
    answers: { 200: { description: 'What was removed', json: schedule } },
    refuses: ['schedule_unknown', 'schedules_broken', 'lock_held', 'disk_full', 'home_unusable'],
  },
  postSchedulePause: {
    method: 'POST',
    path: '/schedules/{name}/pause',
    scope: 'admin',
    tag: 'schedules',
    summary: 'Pause a schedule',
    answers: one,
    refuses: ['schedule_unknown', 'schedules_broken', 'lock_held'],
  },
  postScheduleResume: {
    method: 'POST',
    path: '/schedules/{name}/resume',
    scope: 'admin',
    tag: 'schedules',
    summary: 'Resume a schedule; due times that passed meanwhile are not missed',
    answers: one,
    refuses: ['schedule_unknown', 'schedules_broken', 'lock_held'],
  },
} as const satisfies Record<string, Operation>
