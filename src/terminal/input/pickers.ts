/** Lets the user pick an instance, request, message type or resolver if several are possible. Loads the picker only when needed. */
import type { CatalogEntry, InputRequest, MessageType, Platform, Status } from '../../core/index.ts'
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { statusText } from '../../core/view/status-words.ts'
import { ageText } from '../../core/view/time-words.ts'
import { CommandError, usage } from '../output/command-error.ts'
import { EXIT } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { waitingFirst } from '../pages/instance-table.ts'
import type { Choice } from './picker.tsx'

/** The list offers at most this many of the newest. */
const INSTANCES_MAX = 100

/** Returns undefined if there is no choice: no instance, or only one. */
export async function pickInstance(
  platform: Platform,
  output: Output,
  fitting: readonly Status[] | undefined,
): Promise<string | undefined> {
  const fit = fitting === undefined ? [] : await listed(platform, fitting)
  const [only] = fit
  if (only !== undefined && fit.length === 1) {
    output.note(output.paint('dim', `Instance ${only.instance_id} (${only.resolver}), the only one.`))
    return only.instance_id
  }
  const records = fit.length > 0 ? fit : await listed(platform, undefined)
  if (records.length < 2) return undefined
  const now = Date.now()
  const choices = waitingFirst(records).map((record) => ({
    value: record.instance_id,
    label: `${record.instance_id}  ${statusText(record.status, record.queue)}`,
    detail: cleanLine([record.resolver, record.name ?? '', ageText(record.created_at, now)].join(' ')),
  }))
  return await pick(output, 'Which instance?', choices)
}

export async function pickRequest(output: Output, open: readonly InputRequest[]): Promise<InputRequest> {
  const choices = open.map((request) => ({
    value: request,
    label: cleanLine(request.id),
    detail: cleanLine(request.prompt),
  }))
  return await pick(output, 'Which question?', choices)
}

export async function pickMessageType(output: Output, types: readonly MessageType[]): Promise<MessageType> {
  const choices = types.map((type) => ({
    value: type,
    label: cleanLine(type.name),
    detail: cleanLine(type.description || type.label),
  }))
  return await pick(output, 'Which message?', choices)
}

export async function pickResolver(output: Output, entries: readonly CatalogEntry[]): Promise<string> {
  const choices = entries.map(({ name, description }) => ({
    value: name,
    label: cleanLine(name),
    detail: cleanLine(description),
  }))
  return await pick(output, 'Which resolver?', choices)
}

async function listed(platform: Platform, status: readonly Status[] | undefined): Promise<InstanceRecord[]> {
  const { records } = await platform.list({ limit: INSTANCES_MAX, ...(status === undefined ? {} : { status }) })
  return records
}

/** Throws with exit code 130 if the user cancels. */
async function pick<T>(output: Output, title: string, choices: readonly Choice<T>[]): Promise<T> {
  // Ink decides about colour once, at import, from the environment; stdout may be a pipe while stderr is a terminal.
  const before = process.env['FORCE_COLOR']
  process.env['FORCE_COLOR'] = output.colorOn(process.stderr) ? '1' : '0'
  const { openPicker } = await import('./picker.tsx')
  if (before === undefined) delete process.env['FORCE_COLOR']
  else process.env['FORCE_COLOR'] = before
  const picked = await openPicker(title, choices)
  if (picked !== undefined) return picked.value
  throw new CommandError(usage('No choice was made.').error, {}, EXIT.interrupted)
}
