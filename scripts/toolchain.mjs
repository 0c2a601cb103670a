/**
 * Provides what the tasks of a checkout need: a recent Node, and the dependencies of package-lock.json. Runs on any Node from
 * version 18, so it imports only Node's own modules. task.mjs calls it.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** The oldest supported Node, as in package.json's engines. */
const FLOOR = [24, 15]

/** The path of a supported Node: the machine's own, or the checkout's, fetched where it is missing. */
export async function ensureNode(root) {
  if (isNewEnough(process.versions.node)) return process.execPath
  const folder = join(root, 'tools', 'node24')
  const platform = `node-${process.platform}-${process.arch}`
  const own = join(folder, 'node_modules', platform, 'bin', 'node')
  if (existsSync(own)) return own
  const offered = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).optionalDependencies
  if (!(platform in offered)) {
    throw new TaskError(
      `resolve needs Node ${FLOOR.join('.')} or newer (this is ${process.version}), and none can be fetched here for ` +
        `${process.platform}-${process.arch}: install it, put it first in PATH and give the command again.`,
    )
  }
  say(`Node 24 is fetched into this checkout (yours is ${process.version}).`)
  await npm(['ci'], folder, process.execPath, 'Node 24')
  if (!existsSync(own))
    throw new TaskError(
      `Node 24 was fetched, but ${own} is missing: remove ${folder}/node_modules and give the command again.`,
    )
  return own
}

/** Installs the packages of package-lock.json where they are missing or differ. */
export async function ensureDependencies(root, node) {
  if (areInstalled(root)) return
  say('Dependencies are installed (npm ci).')
  await npm(['ci'], root, node, 'the dependencies')
}

/** Compares npm's record of node_modules, written after a complete install, with the lock file. */
function areInstalled(root) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const present = readPackages(join(root, 'node_modules', '.package-lock.json'))
  if (wanted === undefined || present === undefined) return false
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue
    const found = present[path]
    if (found === undefined ? !(entry.optional || entry.devOptional) : found.version !== entry.version) return false
  }
  return true
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

/** The environment of a task: its Node and the checkout's programs first in PATH. */
export function taskEnvironment(root, node) {
  const PATH = [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter)
  return { ...process.env, PATH }
}

async function npm(args, cwd, node, what) {
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  // npm passes the path of its own program to scripts; otherwise it is looked up in PATH.
  const program = process.env.npm_execpath
  const [command, ...first] = program === undefined ? ['npm'] : [node, program]
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` }
  const { code, output } = await collect(command, [...first, ...args, ...quiet], { cwd, env })
  if (code === 0) return
  throw new TaskError(
    `${output.trim()}\n\nCan't install ${what}: "npm ${args.join(' ')}" ended with ${code} in ${cwd}. ` +
      'Check that npm reaches its registry and that the disk has room, and give the command again.',
  )
}

/** Runs a program to its end and captures its output, because npm's progress is noise. */
function collect(command, args, options) {
  return new Promise((resolve) => {
    const chunks = []
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.on('error', (error) => resolve({ code: 127, output: `${command}: ${error.message}` }))
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output: Buffer.concat(chunks).toString() }))
  })
}

function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > FLOOR[0] || (major === FLOOR[0] && minor >= FLOOR[1])
}

/** Messages of a task go to stderr: stdout belongs to the program that it runs. */
export function say(line) {
  process.stderr.write(`${line}\n`)
}

/** An error that a user can fix; task.mjs prints its message and exits with 1. */
export class TaskError extends Error {}
