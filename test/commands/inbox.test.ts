/** `resolve inbox`, `instance list --watch` and `resolve` alone: what waits, what changes, what there is. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRepaint } from '../../src/terminal/output/repaint.ts'
import { doer, type Home, newHome } from './cli.ts'

let place: Home

interface Question {
  instance_id: string
  resolver: string
  request_id: string
  prompt: string
  asked_at: string
  command: string
}

beforeAll(async () => {
  place = newHome()
})

afterAll(() => place.end())

async function questions(): Promise<Question[]> {
  const { stdout } = await place.run('inbox', '--json')
  const document = JSON.parse(stdout) as { schema: string; questions: Question[] }
  expect(document.schema).toBe('resolve.inbox/1')
  return document.questions
}

test('resolve without a command greets on a first run, and names commands that work', async () => {
  const { code, stdout } = await place.run()
  expect(code).toBe(0)
  const commands = [...stdout.matchAll(/^ {2}(resolve [^ ]+ [^ ]+)/gm)].map(([, command]) => command)
  expect(commands).toEqual(['resolve run hello', 'resolve run tour', 'resolve run agent', 'resolve resolver add'])
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
})

test('an empty inbox ends with exit code 0', async () => {
  expect(await questions()).toEqual([])
  const { code, stdout, stderr } = await place.run('inbox')
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: 'No question is open.\n' })
})

test('every open question of every instance is listed, oldest first, with the command that answers it', async () => {
  for (const what of ['ask', 'ask-twice']) await place.run('run', 'doer', '-i', `do=${what}`, '--name', what)
  // The command leaves at the first question; the second one may come after that.
  await expect.poll(async () => (await questions()).length).toBe(3)
  const open = await questions()
  expect(open.map((question) => question.request_id)).toEqual(['gate-1', 'gate-1', 'gate-2'])
  expect(open.map((question) => question.asked_at)).toEqual(open.map((question) => question.asked_at).toSorted())
  expect(open[2]).toMatchObject({ resolver: 'doer', name: 'ask-twice', prompt: 'And then?' })

  const { stdout } = await place.run('inbox')
  const [head, command] = stdout.split('\n')
  expect(head).toContain(`${open[0]?.instance_id}  doer (ask)  gate-1  Go on?`)
  expect(command?.trim()).toBe(open[0]?.command)

  const words = (open[0]?.command ?? '').replaceAll("'", '').replace('<why>', 'because').split(' ').slice(1)
  expect((await place.run(...words)).code).toBe(0)
  expect((await questions()).length).toBe(2)
})

test('--watch prints the open questions, then each new one, and ends with Ctrl-C (130)', async () => {
  const watching = place.start({}, 'inbox', '--watch', '--jsonl')
  await watching.said('gate-2')
  await place.run('run', 'doer', '-i', 'do=ask', '--name', 'later')
  await watching.said('later')
  watching.kill('SIGINT')
  const { code, stdout } = await watching.ended
  expect(code).toBe(130)
  const told = stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as Question).request_id)
  expect(told).toEqual(['gate-1', 'gate-2', 'gate-1'])
})

test('--watch refuses --json', async () => {
  expect((await place.run('inbox', '--watch', '--json')).code).toBe(2)
  expect((await place.run('instance', 'list', '--watch', '--json')).code).toBe(2)
})

test('list --watch without a terminal prints each instance once, then a line for each change', async () => {
  const [question] = await questions()
  const id = question?.instance_id ?? ''
  const watching = place.start({}, 'instance', 'list', '--watch', '--color', 'never')
  await watching.said(id)
  await place.run('instance', 'cancel', id)
  await watching.said('cancelled')
  watching.kill('SIGTERM')
  const { code, stdout } = await watching.ended
  expect(code).toBe(143)
  const own = stdout.split('\n').filter((line) => line.includes(id))
  expect(own.map((line) => /waiting for you|cancelled/.exec(line)?.[0])).toEqual(['waiting for you', 'cancelled'])
})

test('resolve without a command lists, after the first run, waiting, running and recently ended instances', async () => {
  const { code, stdout } = await place.run()
  expect(code).toBe(0)
  expect(stdout).toMatch(/Waiting for you\n.*doer \(later\) {2}gate-1/)
  expect(stdout).toMatch(/Ended last\n.*cancelled/)
  const { stdout: json } = await place.run('--json')
  const overview = JSON.parse(json) as Record<string, unknown[]>
  expect(overview['schema']).toBe('resolve.overview/1')
  expect([overview['questions']?.length, overview['running']?.length, overview['finished']?.length]).toEqual([1, 1, 2])
})

test('a page is repainted in place, within the rows of the terminal, and only when it changed', () => {
  const size = { columns: 10, rows: 4 }
  const page = openRepaint(() => size)
  expect(page.show(['one', 'two'])).toBe('one\u001b[K\ntwo\u001b[K\n\u001b[0J')
  expect(page.show(['one', 'two'])).toBe('')
  expect(page.show(['one', 'a line that is too long'])).toBe('\u001b[2A\rone\u001b[K\na line th…\u001b[K\n\u001b[0J')
  expect(page.show(['1', '2', '3', '4', '5'])).toBe('\u001b[2A\r1\u001b[K\n2\u001b[K\n… 3 more\u001b[K\n\u001b[0J')
  // A narrower terminal has wrapped what stands there: the page begins anew below it.
  size.columns = 8
  expect(page.show(['1', '2'])).toBe('1\u001b[K\n2\u001b[K\n\u001b[0J')
})
