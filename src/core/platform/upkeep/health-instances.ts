/**
 * The checks of {@link file://./health.ts} for instances: journals, hosts, processes and containers without an instance,
 * leftovers.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fail, ResolveError } from '../../errors.ts'
import { endWorkerProcesses, workerProcesses } from '../../host/ingest/instance-files.ts'
import { hasHost, hostState, startBackgroundHost } from '../../host/process/reach.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import { hasWorker, isTerminal, type Status } from '../../protocol/status.ts'
import { instanceIds, instancePaths } from '../../store/home.ts'
import { projectInTurns } from '../../store/journal-projection.ts'
import { readOwner } from '../../store/owners.ts'
import { readRecordInTurns } from '../../store/record.ts'
import { isLost } from '../../view/lost-worker.ts'
import type { HealthRow } from '../platform.ts'
import { leftoversIn, removeLeftovers } from './prune.ts'

interface Plan {
  home: string
  fix: boolean
}

export async function checkInstances(plan: Plan): Promise<HealthRow[]> {
  const statuses = new Map<string, Status>()
  const journals: HealthRow[] = []
  for (const id of instanceIds(plan.home)) {
    const { status, fault } = await readJournal(plan.home, id)
    if (status !== undefined) statuses.set(id, status)
    if (fault !== undefined) journals.push(fault)
  }
  return [
    ...orOk(journals, 'journals', `${statuses.size} journals can be read to their end`),
    ...orOk(await unattended(plan, statuses), 'hosts', 'Every running instance has a host'),
    ...(await lostWorkers(plan.home, statuses)),
    ...orOk(await orphans(plan, statuses), 'orphans', 'No worker is left of an ended instance'),
    ...orOk(await orphanedContainers(plan), 'containers', 'No container is left of an ended instance'),
    ...orOk(await leftovers(plan), 'leftovers', 'No directory of an interrupted creation or removal is left'),
  ]
}

function orOk(rows: HealthRow[], check: string, message: string): HealthRow[] {
  return rows.length > 0 ? rows : [{ check, state: 'ok', message, mend: null }]
}

async function readJournal(home: string, id: string): Promise<{ status?: Status; fault?: HealthRow }> {
  const { root, journal } = instancePaths(home, id)
  const fault = (message: string, mend: string): HealthRow => ({ check: 'journals', state: 'failed', message, mend })
  const apart = `mv ${quoteWord(root)} ${quoteWord(join(home, `broken-${id}`))}`
  let status: Status
  let damaged: number
  try {
    const projector = await projectInTurns(journal)
    if (!projector.isGapless) throw fail('journal_broken', { path: journal, reason: 'a number is missing' })
    const { story, inbox } = projector.projection()
    status = story.status
    damaged = inbox.damaged
  } catch (error) {
    const message =
      error instanceof ResolveError ? error.message : `Can't read the journal ${journal}: ${String(error)}.`
    return { fault: fault(message, apart) }
  }
  if (damaged > 0) {
    const lines = damaged === 1 ? 'a private line' : `${damaged} private lines`
    const message = `${id} is ${status}, and ${lines} of its journal cannot be read; what was sent to it may be missing: ${journal}`
    // The next host leaves the damaged lines out; one that has ended has no next host.
    return { status, fault: fault(message, isTerminal(status) ? apart : `resolve instance watch ${id}`) }
  }
  const frozen = readdirSync(root).find((name) => name.startsWith('journal.frozen-'))
  if (frozen === undefined) return { status }
  const path = join(root, frozen)
  return { status, fault: fault(`${id} lost events: its damaged journal was kept as ${path}`, `rm ${quoteWord(path)}`) }
}

async function unattended({ home, fix }: Plan, statuses: ReadonlyMap<string, Status>): Promise<HealthRow[]> {
  const rows: HealthRow[] = []
  for (const [id, status] of statuses) {
    if (!hasWorker(status) && status !== 'created') continue
    const host = await hostState(home, id)
    if (host === 'answers') continue
    if (host === 'silent') {
      rows.push({
        check: 'hosts',
        state: 'failed',
        message: `${id} is ${status}, and its host${processOf(home, id)} does not answer`,
        mend: `resolve instance stop ${id} --force`,
      })
      continue
    }
    if (!fix && wasReleased(home, id)) {
      rows.push({
        check: 'hosts',
        state: 'note',
        message: `${id} is ${status}; its server ended, and the next one adopts it`,
        mend: 'resolve serve',
      })
      continue
    }
    const row: HealthRow = {
      check: 'hosts',
      state: 'failed',
      message: `${id} is ${status} and has no host`,
      mend: `resolve instance watch ${id}`,
    }
    rows.push(fix ? await mended(row, 'a background host took it', () => startBackgroundHost(home, id)) : row)
  }
  return rows
}

/** The last host ended normally, and left the instance to the next one. */
function wasReleased(home: string, id: string): boolean {
  return readOwner(instancePaths(home, id).owners)?.released === true
}

function processOf(home: string, id: string): string {
  const pid = readOwner(instancePaths(home, id).owners)?.process.pid
  return pid === undefined ? '' : ` (process ${pid})`
}

/** R58. They are safe on disk, so this is only a note. */
async function lostWorkers(home: string, statuses: ReadonlyMap<string, Status>): Promise<HealthRow[]> {
  const paused = [...statuses].filter(([, status]) => status === 'paused').map(([id]) => id)
  const records = await Promise.all(paused.map((id) => readRecordInTurns(instancePaths(home, id))))
  const lost = records.filter(isLost).map(({ instance_id: id }) => id)
  if (lost.length === 0) return []
  const who = lost.length === 1 ? `${lost[0]} is` : `${lost.length} instances are`
  const message = `${who} paused because the worker was lost; a checkpoint is saved`
  return [{ check: 'lost', state: 'note', message, mend: 'resolve instance resume --lost' }]
}

async function orphans({ home, fix }: Plan, statuses: ReadonlyMap<string, Status>): Promise<HealthRow[]> {
  const rows: HealthRow[] = []
  for (const [id, pids] of workerProcesses(home)) {
    const status = statuses.get(id)
    const has = status === undefined ? 'is gone' : isTerminal(status) ? `is ${status}` : undefined
    // A host ends its worker before it reports the end of the instance: a live owner may be doing so.
    if (has === undefined || (await hasHost(home, id))) continue
    const row: HealthRow = {
      check: 'orphans',
      state: 'failed',
      message: `${id} ${has}, and ${pids.length === 1 ? 'a process' : `${pids.length} processes`} of it still run (${pids.join(', ')})`,
      mend: `kill -9 ${pids.join(' ')}`,
    }
    rows.push(fix ? await mended(row, 'ended', () => endWorkerProcesses(instancePaths(home, id))) : row)
  }
  return rows
}

/** Without an engine there are no containers; the check of the engine reports that. */
async function orphanedContainers({ home, fix }: Plan): Promise<HealthRow[]> {
  const rows: HealthRow[] = []
  const { endOrphan, orphanContainers } = await import('../../host/process/reaper.ts')
  for (const orphan of await orphanContainers(home, Date.now(), 0).catch(() => [])) {
    const row: HealthRow = {
      check: 'containers',
      state: 'failed',
      message: `The container ${orphan.name} is there, and ${orphan.why}`,
      mend: `docker rm -f ${quoteWord(orphan.name)}`,
    }
    rows.push(fix ? await mended(row, 'ended', () => endOrphan(orphan)) : row)
  }
  return rows
}

async function leftovers({ home, fix }: Plan): Promise<HealthRow[]> {
  const found = await leftoversIn(home)
  if (found.length === 0) return []
  const row: HealthRow = {
    check: 'leftovers',
    state: 'failed',
    message: `${found.length} ${found.length === 1 ? 'directory is' : 'directories are'} left of interrupted creations or removals`,
    mend: 'resolve doctor --fix',
  }
  if (!fix) return [row]
  const { count } = await removeLeftovers(home, false)
  if (count < found.length) return [{ ...row, mend: `rm -rf ${found.map(quoteWord).join(' ')}` }]
  return [{ ...row, state: 'mended', message: `${row.message}; removed`, mend: null }]
}

async function mended(row: HealthRow, outcome: string, mend: () => Promise<void>): Promise<HealthRow> {
  try {
    await mend()
    return { ...row, state: 'mended', message: `${row.message}: ${outcome}`, mend: null }
  } catch (error) {
    return { ...row, message: `${row.message}: ${error instanceof Error ? error.message : String(error)}` }
  }
}
