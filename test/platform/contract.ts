/** What every platform must do, whatever its door: run by local, remote, unix and cli in this folder. */
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Platform } from '../../src/core/platform/platform.ts'
import type { JournalEvent } from '../../src/core/protocol/journal.ts'
import type { Status } from '../../src/core/protocol/status.ts'

export const FIXTURES = join(import.meta.dirname, '../fixtures/resolvers')

/** The resolvers whose folders the suite needs in the catalog. */
export const NEEDED = ['asks-once', 'checkpoints', 'many-events', 'ignores-stop', 'two-questions', 'exits-zero']

const ACTOR = { actor: 'tester', via: 'cli' } as const

/** What a door may be unable to show; the reason stands in the report of the tests. */
export type Feature = 'moments' | 'pages' | 'rename' | 'messages' | 'ensureHost' | 'leave' | 'ranges'

export interface Door {
  lacks?: Partial<Record<Feature, string>>
}

export function platformContract(open: () => Promise<Platform>, { lacks = {} }: Door = {}): void {
  const has = (feature: Feature) => lacks[feature] === undefined
  for (const [feature, reason] of Object.entries(lacks)) test.skip(`${feature}: ${reason}`, () => {})

  const until = async (platform: Platform, id: string, statuses: Status[]) => {
    for await (const { event } of platform.events(id, { follow: true, signal: AbortSignal.timeout(60_000) })) {
      if (event.event_type !== 'platform.instance.status_changed') continue
      if (statuses.includes(event.data['to'] as Status)) return
    }
    throw new Error(`${id} came only to ${(await platform.record(id)).status}, not to ${statuses.join(' or ')}`)
  }

  const collect = async (events: AsyncIterable<JournalEvent>) => {
    const all: JournalEvent[] = []
    for await (const event of events) all.push(event)
    return all
  }

  // verifies: S-SVC-05 S-SVC-06 S-REC-01
  test('an instance is created, followed to its end and read afterwards (R8, R12)', async () => {
    const platform = await open()
    const record = await platform.create({ resolver: 'hello', input: { name: 'Ada' }, name: 'greeting' })
    expect(record.instance_id).toMatch(/^[0-9a-f]{12}$/)
    expect(record).toMatchObject({ resolver: 'hello', input: { name: 'Ada' }, name: 'greeting' })
    if (has('moments')) expect(record.status).toBe('created')
    await until(platform, record.instance_id, ['completed'])
    const ended = await platform.record(record.instance_id)
    // The ruled fields; more may be added (R8).
    expect(Object.keys(ended)).toEqual(
      expect.arrayContaining([
        'created_at',
        'ended_at',
        'error',
        'input',
        'instance_id',
        'name',
        'output',
        'parent_id',
        'pending_inputs',
        'phase',
        'resolver',
        'resolver_state',
        'resolver_version',
        'sessions_used',
        'status',
        'supports_resume',
        'updated_at',
      ]),
    )
    expect(ended).toMatchObject({ status: 'completed', output: 'Hello, Ada!', error: null, pending_inputs: 0 })
    expect(ended.ended_at).not.toBeNull()
    await platform.close()
  })

  // verifies: S-REC-02 S-ERR-01
  test('input that fails its checks creates nothing and names every message (R10)', async () => {
    const platform = await open()
    const before = (await platform.list()).records.length
    await expect(platform.create({ resolver: 'tour', input: { plaque: true } })).rejects.toMatchObject({
      code: 'form_invalid',
    })
    await expect(platform.create({ resolver: 'nobody', input: {} })).rejects.toMatchObject({ code: 'resolver_unknown' })
    expect((await platform.list()).records).toHaveLength(before)
    const checked = await platform.check('tour', { plaque: true, inscription: 'x'.repeat(61) })
    expect(checked.errors).toEqual(['An inscription has 60 characters at most'])
    // Also where the refusal crossed a border: the fields are known with their sentences.
    const wrong = { plaque: true, inscription: 'x'.repeat(61) }
    await expect(platform.create({ resolver: 'tour', input: wrong })).rejects.toMatchObject({
      ...{ code: 'form_invalid', exitCode: 5, errors: checked.errors },
      fields: [{ id: 'inscription', message: 'An inscription has 60 characters at most' }],
    })
    await platform.close()
  })

  // verifies: S-FORM-21 S-SVC-20
  test('the form depends on what is filled in, and so does the check at creation (R10)', async () => {
    const platform = await open()
    const plain = await platform.schema('tour', {})
    const filled = await platform.schema('tour', { plaque: true })
    expect(plain?.components.map((component) => component.id)).toEqual(['subject', 'pace', 'plaque'])
    expect(filled?.components.map((component) => component.id)).toContain('inscription')
    await platform.close()
  })

  const read = async (stream: AsyncIterable<Buffer>) => {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    return Buffer.concat(chunks)
  }

  // verifies: S-EVT-01 S-DO-05
  test('events are replayed from any point, each once, and the same to every reader (R15)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({
      resolver: 'many-events',
      input: { count: '300', pause_ms: '0' },
    })
    const live = await collect(platform.events(id, { follow: true }))
    const replayed = await collect(platform.events(id))
    expect(replayed.map((event) => event.text)).toEqual(live.map((event) => event.text))
    expect(live.map((event) => event.seq)).toEqual(live.map((_, index) => index + 1))
    expect((await collect(platform.events(id, { after: 200 })))[0]?.seq).toBe(201)
    expect(await collect(platform.events(id, { after: live.length, follow: true }))).toEqual([])
    await platform.close()
  })

  // verifies: S-SVC-08 S-REQ-02 S-SDK-06
  test('a question is listed, refused a bad answer, answered once, and says by whom (R25, R28)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'asks-once', input: {} })
    await until(platform, id, ['awaiting_input'])
    const [request] = await platform.inputRequests(id, 'pending')
    expect(request).toMatchObject({ status: 'pending', schema: { type: 'form' } })
    const rid = request?.id as string
    expect((await platform.record(id)).pending_inputs).toBe(1)
    await expect(platform.answer(id, 'no-such-request', {}, ACTOR)).rejects.toMatchObject({ code: 'request_unknown' })
    await expect(platform.answer(id, rid, {}, ACTOR)).rejects.toMatchObject({
      ...{ code: 'form_invalid', errors: ['Name is required'], fields: [{ id: 'name', message: 'Name is required' }] },
    })
    await platform.answer(id, rid, answerFor(request), ACTOR)
    await expect(platform.answer(id, rid, answerFor(request), ACTOR)).rejects.toMatchObject({
      code: 'already_answered',
    })
    await until(platform, id, ['completed'])
    expect((await platform.inputRequests(id))[0]).toMatchObject({ id: rid, status: 'answered' })
    expect(await platform.inputRequests(id, 'pending')).toEqual([])
    await expect(platform.answer(id, rid, answerFor(request), ACTOR)).rejects.toMatchObject({
      code: 'already_answered',
    })
    await platform.close()
  })

  test('of twenty simultaneous answers one is accepted, nineteen are refused as already answered (R25)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'asks-once', input: {} })
    await until(platform, id, ['awaiting_input'])
    const [request] = await platform.inputRequests(id, 'pending')
    const tries = Array.from({ length: 20 }, (_, n) =>
      platform.answer(id, request?.id as string, answerFor(request), { actor: `racer ${n}`, via: 'cli' }),
    )
    const outcomes = await Promise.allSettled(tries)
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
    const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []))
    expect(new Set(codes)).toEqual(new Set(['already_answered']))
    await until(platform, id, ['completed'])
    await platform.close()
  })

  // verifies: S-SVC-10
  test('an instance is paused, then resumed to its end; illegal moves are refused (R24)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({
      resolver: 'checkpoints',
      input: { to: '400', step_ms: '100', resumed_ms: '1' },
    })
    await expect(platform.resume(id)).rejects.toMatchObject({ code: 'invalid_state' })
    await until(platform, id, ['running'])
    await platform.pause(id)
    await until(platform, id, ['paused'])
    await expect(platform.pause(id)).rejects.toMatchObject({ code: 'invalid_state' })
    await expect(platform.messageTypes(id)).rejects.toMatchObject({ code: 'invalid_state' })
    const resumed = await platform.resume(id)
    if (has('moments')) expect(resumed.status).toBe('running')
    await until(platform, id, ['completed'])
    await platform.close()
  })

  // verifies: S-MOVE-13
  test('stop and cancel end every status that is not final, and a final one refuses both (R20)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'asks-once', input: {} })
    await until(platform, id, ['awaiting_input'])
    await platform.cancel(id)
    await until(platform, id, ['cancelled'])
    await expect(platform.stop(id)).rejects.toMatchObject({ code: 'invalid_state' })
    await expect(platform.cancel(id)).rejects.toMatchObject({ code: 'invalid_state' })
    const paused = (
      await platform.create({ resolver: 'checkpoints', input: { to: '400', step_ms: '100', resumed_ms: '1' } })
    ).instance_id
    await until(platform, paused, ['running'])
    await platform.pause(paused)
    await until(platform, paused, ['paused'])
    expect((await platform.stop(paused, { reason: 'no more' })).status).toBe('cancelled')
    await platform.close()
  })

  test('a list is newest first, in pages, and filtered (R9)', async () => {
    const platform = await open()
    for (let n = 0; n < 3; n += 1) await platform.create({ resolver: 'exits-zero', input: {}, name: `n${n}` })
    const all = (await platform.list()).records
    expect(all.map((record) => record.created_at)).toEqual(
      all
        .map((record) => record.created_at)
        .sort()
        .reverse(),
    )
    const first = await platform.list({ limit: 2 })
    expect(first.records).toHaveLength(2)
    if (has('pages')) {
      const second = await platform.list({ limit: 2, cursor: first.cursor as string })
      expect([...first.records, ...second.records].map((record) => record.instance_id)).toEqual(
        all.slice(0, 4).map((record) => record.instance_id),
      )
    }
    const few = await platform.list({ resolver: 'exits-zero' })
    expect(few.records.length).toBeGreaterThanOrEqual(3)
    expect(few.records.every((record) => record.resolver === 'exits-zero')).toBe(true)
    expect((await platform.list({ status: ['paused'] })).records.every((record) => record.status === 'paused')).toBe(
      true,
    )
    await platform.close()
  })

  test('an id is found by itself, a unique prefix of four and @last (R3)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'exits-zero', input: {} })
    expect(await platform.find(id)).toBe(id)
    expect(await platform.find(id.slice(0, 8))).toBe(id)
    expect(await platform.find('@last')).toBe(id)
    for (const bad of ['abc', 'zzzz', '../..', '', 'ffffffffffff']) {
      await expect(platform.find(bad)).rejects.toMatchObject({ code: 'instance_unknown' })
    }
    await until(platform, id, ['failed'])
    await platform.close()
  })

  // verifies: S-SVC-07 S-SVC-11 S-DO-04
  test('data files are listed and read, and nothing outside of them (R13)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'tour', input: {} })
    await until(platform, id, ['awaiting_input', 'completed'])
    for (const request of await platform.inputRequests(id, 'pending')) {
      await platform.answer(id, request.id, answerFor(request), ACTOR)
    }
    await until(platform, id, ['completed'])
    const [file] = await platform.dataFiles(id)
    const content = await platform.data(id, file?.path as string)
    let bytes = 0
    for await (const chunk of content.stream) bytes += chunk.length
    expect(bytes).toBe(file?.bytes)
    if (has('ranges')) {
      const whole = await read((await platform.data(id, file?.path as string)).stream)
      const part = await platform.data(id, file?.path as string, (all) => ({ from: 3, to: all - 2 }))
      expect(part.bytes).toBe(whole.length)
      expect(await read(part.stream)).toEqual(whole.subarray(3, -2))
      expect(
        await read((await platform.data(id, file?.path as string, () => ({ from: 2, to: 2 }))).stream),
      ).toHaveLength(0)
    }
    await expect(platform.data(id, 'no/such/file')).rejects.toMatchObject({ code: 'file_unknown' })
    for (const path of ['../config.json', 'a/../../config.json', '/etc/passwd', '', 'a//b', '..\\config.json']) {
      await expect(platform.data(id, path)).rejects.toMatchObject({ code: 'path_refused' })
    }
    expect(await platform.state(id)).not.toBeNull()
    await platform.close()
  })

  test('an unknown instance is unknown to every call', async () => {
    const platform = await open()
    const id = '0123456789ab'
    const calls = [
      () => platform.record(id),
      () => platform.story(id),
      () => platform.hasHost(id),
      ...(has('ensureHost') ? [() => platform.ensureHost(id)] : []),
      ...(has('rename') ? [() => platform.rename(id, 'x')] : []),
      ...(has('messages') ? [() => platform.messages(id)] : []),
      () => platform.stderrTail(id),
      () => platform.export(id),
      () => platform.state(id),
      () => platform.inputRequests(id),
      () => platform.answer(id, 'q', {}, ACTOR),
      () => platform.messageTypes(id),
      () => platform.message(id, 'note', {}, ACTOR),
      () => platform.pause(id),
      () => platform.resume(id),
      () => platform.stop(id),
      () => platform.cancel(id),
      () => platform.dataFiles(id),
      () => platform.data(id, 'a'),
      async () => await collect(platform.events(id)),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'instance_unknown' })
    await platform.close()
  })

  test('an instance can be exported at any time, and the platform says whether it has a host', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'asks-once', input: {} })
    await until(platform, id, ['awaiting_input'])
    expect(await platform.hasHost(id)).toBe(true)
    const chunks: Buffer[] = []
    for await (const chunk of await platform.export(id)) chunks.push(chunk)
    const archive = gunzipSync(Buffer.concat(chunks)).toString('latin1')
    expect(archive.startsWith(`resolve-${id}/record.json\0`)).toBe(true)
    for (const file of ['journal', 'events.jsonl', 'input-requests/'])
      expect(archive).toContain(`resolve-${id}/${file}`)
    expect(archive).not.toContain('config.json')
    await platform.cancel(id)
    await until(platform, id, ['cancelled'])
    await platform.close()
  })

  test('ended instances are pruned and unknown afterwards; others are never removed', async () => {
    const platform = await open()
    const ended = (await platform.create({ resolver: 'exits-zero', input: {} })).instance_id
    await until(platform, ended, ['failed'])
    const waiting = (await platform.create({ resolver: 'asks-once', input: {} })).instance_id
    await until(platform, waiting, ['awaiting_input'])
    await expect.poll(async () => await platform.hasHost(ended)).toBe(false)
    const planned = await platform.prune({ older_than_ms: 0, dry_run: true })
    expect(planned.removed.map((one) => one.instance_id)).toContain(ended)
    expect((await platform.record(ended)).status).toBe('failed')
    const { removed } = await platform.prune({ older_than_ms: 0 })
    expect(removed.find((one) => one.instance_id === ended)).toMatchObject({ status: 'failed', resolver: 'exits-zero' })
    expect(removed.every((one) => one.bytes > 0)).toBe(true)
    await expect(platform.record(ended)).rejects.toMatchObject({ code: 'instance_unknown' })
    expect((await platform.record(waiting)).status).toBe('awaiting_input')
    await platform.cancel(waiting)
    await until(platform, waiting, ['cancelled'])
    await platform.close()
  })

  test('health lists every check, each failure with the command that repairs it', async () => {
    const platform = await open()
    const rows = await platform.health()
    expect(rows.map((row) => row.check)).toEqual(expect.arrayContaining(['node', 'git', 'home', 'catalog', 'hosts']))
    for (const row of rows) if (row.state === 'failed') expect(row.mend).not.toBeNull()
    await platform.close()
  })

  test.runIf(has('rename'))('a name is set and removed (R9)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'exits-zero', input: {}, name: 'first' })
    expect((await platform.rename(id, 'second')).name).toBe('second')
    expect((await platform.record(id)).name).toBe('second')
    await until(platform, id, ['failed'])
    expect((await platform.rename(id, null)).name).toBeNull()
    expect((await platform.list()).records.find((record) => record.instance_id === id)?.name).toBeNull()
    await platform.rename(id, 'third')
    await expect.poll(async () => await platform.hasHost(id)).toBe(false)
    const { removed } = await platform.prune({ older_than_ms: 0, dry_run: true })
    expect(removed.find((one) => one.instance_id === id)?.name).toBe('third')
    await platform.close()
  })

  // verifies: S-SVC-09
  test('a message of a declared type is checked, numbered and stored (R9, R25)', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'tour', input: {} })
    await until(platform, id, ['awaiting_input'])
    const note = (await platform.messageTypes(id)).find((type) => type.name === 'note')
    expect(note).toMatchObject({ label: 'Leave a note', schema: { type: 'form' } })
    await expect(platform.message(id, 'nonsense', {}, ACTOR)).rejects.toMatchObject({ code: 'message_type_unknown' })
    await expect(platform.message(id, 'note', {}, ACTOR)).rejects.toMatchObject({
      ...{ code: 'form_invalid', exitCode: 5, fields: [{ id: 'text', message: expect.any(String) }] },
    })
    expect(await platform.message(id, 'note', { text: 'One' }, ACTOR)).toEqual({ number: 1 })
    const keyed = { ...ACTOR, key: 'the-second' }
    expect(await platform.message(id, 'note', { text: 'Two' }, keyed)).toEqual({ number: 2 })
    if (has('messages')) {
      // The same key is the same call (R11).
      expect(await platform.message(id, 'note', { text: 'Two' }, keyed)).toEqual({ number: 2 })
      const sent = await platform.messages(id)
      expect(sent.map(({ number, message_type, payload }) => ({ number, message_type, payload }))).toEqual([
        { number: 1, message_type: 'note', payload: { text: 'One' } },
        { number: 2, message_type: 'note', payload: { text: 'Two' } },
      ])
      expect(sent.map((message) => message.via)).toEqual(['cli', 'cli'])
    }
    await platform.cancel(id)
    await until(platform, id, ['cancelled'])
    await expect(platform.message(id, 'note', { text: 'Late' }, ACTOR)).rejects.toMatchObject({ code: 'invalid_state' })
    await platform.close()
  })

  test.runIf(has('leave'))('a released instance goes on in a host of its own, and can still be answered', async () => {
    const platform = await open()
    const { instance_id: id } = await platform.create({ resolver: 'asks-once', input: {} })
    await until(platform, id, ['awaiting_input'])
    await platform.leave(id)
    const [request] = await platform.inputRequests(id, 'pending')
    await platform.answer(id, request?.id as string, answerFor(request), ACTOR)
    await until(platform, id, ['completed'])
    await platform.close()
  })
}

/** An answer that passes every question of the fixtures and of tour. */
function answerFor(
  request: { schema: { components: { id: string; type: string }[] } } | undefined,
): Record<string, unknown> {
  const components = request?.schema.components ?? []
  return Object.fromEntries(
    components.map((component) => {
      if (component.type === 'checkbox') return [component.id, true]
      const options = 'options' in component ? (component.options as { value: string }[]) : []
      return [component.id, component.type === 'select' ? options[0]?.value : 'Ada Lovelace']
    }),
  )
}
