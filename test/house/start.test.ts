/** Holds how the program and the tasks start: on an old Node, unbuilt, asked for their version; in copies of the checkout. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { root } from './source-files.ts'

/** Loaded first, it makes a Node believe that it is an old one. */
const OLD =
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})"

let checkout: string

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'resolve-checkout-'))
  for (const path of ['bin', 'scripts', 'package.json', 'package-lock.json'])
    cpSync(join(root, path), join(checkout, path), { recursive: true })
})

afterEach(() => rmSync(checkout, { recursive: true, force: true }))

function node(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: checkout, encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** A Node in the place where the checkout's own would be; here it is the one that runs this test. */
function provideNode(): void {
  const place = join(
    checkout,
    'tools',
    'node24',
    'node_modules',
    `node-${process.platform}-${process.arch}`,
    'bin',
    'node',
  )
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(process.execPath, place)
}

/** A program in the place of the built one. */
function provideProgram(code: string): void {
  mkdirSync(join(checkout, 'dist', 'cli'), { recursive: true })
  writeFileSync(join(checkout, 'dist', 'cli', 'main.js'), code)
}

test('the version is printed without a build (R1)', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(node('bin/run.js', '--version')).toEqual({ status: 0, stdout: `resolve ${version}\n`, stderr: '' })
})

test('a program that is not built says how to build it', () => {
  const { status, stdout, stderr } = node('bin/run.js', 'instance', 'list')
  expect({ status, stdout }).toEqual({ status: 10, stdout: '' })
  expect(stderr).toMatch(/^resolve is not built in this checkout: run "npm run build".*\n$/)
})

test('an old Node runs the program again with the Node of the checkout, and passes arguments and exit code on', () => {
  provideNode()
  provideProgram(
    'export const main = async (argv) => { console.log(argv.join(" "), process.versions.node.split(".")[0]); process.exitCode = 7 }',
  )
  const major = process.versions.node.split('.')[0]
  expect(node('--import', OLD, 'bin/run.js', 'instance', 'list')).toEqual({
    status: 7,
    stdout: `instance list ${major}\n`,
    stderr: '',
  })
})

test('a signal to the old Node reaches the program', async () => {
  provideNode()
  provideProgram(
    'export const main = () => { process.on("SIGTERM", () => process.exit(5)); console.log("up"); setInterval(() => {}, 1000) }',
  )
  const child = spawn(process.execPath, ['--import', OLD, 'bin/run.js', 'x'], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([5, null])
})

test('an old Node without a newer one in the checkout says in one sentence what to do', () => {
  const inCheckout = node('--import', OLD, 'bin/run.js', 'instance', 'list')
  expect(inCheckout.status).toBe(10)
  expect(inCheckout.stderr).toMatch(/^resolve needs Node 24\.15 or newer \(this is v\S+\): run "npm run build".*\n$/)
  rmSync(join(checkout, 'scripts'), { recursive: true })
  expect(node('--import', OLD, 'bin/run.js', 'instance', 'list').stderr).toMatch(
    /: install it and put it first in PATH\.\n$/,
  )
})

test('a task on an old Node, on a machine for which no Node can be fetched, says in one sentence what to do', () => {
  mkdirSync(join(checkout, 'tools', 'node24'), { recursive: true })
  writeFileSync(join(checkout, 'tools', 'node24', 'package.json'), JSON.stringify({ optionalDependencies: {} }))
  const { status, stderr } = node('--import', OLD, 'scripts/task.mjs', 'types')
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /^resolve needs Node 24\.15 or newer \(this is v\S+\), and none can be fetched here for \S+: .*\n$/,
  )
})

test('a task that does not exist names those that do', () => {
  const { status, stderr } = node('scripts/task.mjs', 'frobnicate')
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'A task is one of: demo, test, soak, build, bench, proof:renovate, proof:agents, lint, format, types, dead-exports.\n',
  })
})

test('a task passes its arguments and its exit code on, and leaves no lock behind', () => {
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  const version = node('scripts/task.mjs', 'types', '--version')
  expect(version).toMatchObject({ status: 0, stderr: '' })
  expect(version.stdout).toMatch(/^Version \d/)
  const wrong = node('scripts/task.mjs', 'types', '--no-such-option')
  expect(wrong.status).not.toBe(0)
  expect(wrong.stdout).toContain('--no-such-option')
})

test('a task takes over the lock of one that died', () => {
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  const dead = spawnSync(process.execPath, ['-e', '']).pid
  writeFileSync(join(checkout, '.task-lock'), String(dead))
  expect(node('scripts/task.mjs', 'types', '--version').status).toBe(0)
})
