/**
 * The config file of a person: defaults of commands, and the servers they signed in to (docs/cli.md, The config file). Its content is
 * untrusted until it is parsed. The base command and the context commands use it.
 */
import { closeSync, constants, fchmodSync, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { diskFull, fail, type ResolveError, systemCode } from '../../core/errors.ts'
import { writePrivateFile } from '../../core/index.ts'
import { CONFIG_MAX_BYTES, CONTEXTS_MAX } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { nearest } from '../../core/primitives/nearest.ts'

export interface Context {
  url: string
  /** Absent after `logout`. */
  token?: string
}

export interface Config {
  /** The context that commands use by default; `local` is this machine. */
  context?: string
  color?: 'auto' | 'always' | 'never'
  on_input?: 'prompt' | 'leave' | 'wait' | 'cancel'
  contexts: Record<string, Context>
}

/** The context of this machine. */
export const LOCAL = 'local'

const CHOICES = { color: ['auto', 'always', 'never'], on_input: ['prompt', 'leave', 'wait', 'cancel'] } as const
const KEYS = ['context', 'color', 'on_input', 'contexts']
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/
const TOKEN = /^[\x21-\x7e]{1,200}$/

export function isContextName(name: string): boolean {
  return NAME.test(name) && name !== LOCAL
}

/** `$XDG_CONFIG_HOME/resolve/config.json`, else `~/.config/resolve/config.json`. */
export function configPath(env: NodeJS.ProcessEnv = process.env): string {
  const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config')
  return resolve(base, 'resolve', 'config.json')
}

/** Empty where there is no file. A file that others could read gets mode 0600. Throws `config_invalid`. */
export function readConfig(path = configPath()): Config {
  const text = readText(path)
  return text === undefined ? { contexts: {} } : parseConfig(text, path)
}

/** Replaces the file, mode 0600. Throws `config_invalid`, `disk_full`. */
export async function writeConfig(config: Config, path = configPath()): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writePrivateFile(targetOf(path), `${JSON.stringify(config, null, 2)}\n`)
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    throw diskFull(error, path) ?? invalid(path, undefined, `it can't be written (${code})`)
  }
}

/** A person may keep the file elsewhere, behind a link: then that file is replaced, not the link. */
function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function readText(path: string): string | undefined {
  try {
    // Non-blocking, because a FIFO may be in its place.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(fd)
      if (!stat.isFile()) throw invalid(path, undefined, 'it is not a regular file')
      if (stat.size > CONFIG_MAX_BYTES) throw invalid(path, undefined, `it has more than ${CONFIG_MAX_BYTES} bytes`)
      if (stat.uid !== (process.getuid?.() ?? stat.uid) && stat.uid !== 0) {
        throw invalid(path, undefined, 'it belongs to another user')
      }
      if ((stat.mode & 0o022) !== 0) throw invalid(path, undefined, 'other users may write it; run "chmod 600" on it')
      if ((stat.mode & 0o077) !== 0 && stat.uid === process.getuid?.()) fchmodSync(fd, 0o600)
      return readFileSync(fd, 'utf8')
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw error
    throw invalid(path, undefined, `it can't be read (${code})`)
  }
}

/** Throws `config_invalid`, with the line; values are not quoted, because one may be a token. */
export function parseConfig(text: string, path: string): Config {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const at = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1]
    throw invalid(path, at === undefined ? text.split('\n').length : lineAt(text, Number(at)), 'it is not JSON')
  }
  const refuse = (key: string, problem: string): never => {
    const at = text.indexOf(JSON.stringify(key))
    throw invalid(path, at === -1 ? 1 : lineAt(text, at), problem)
  }
  if (!isObject(value)) return refuse('', 'it is not a JSON object')
  for (const key of Object.keys(value)) {
    if (KEYS.includes(key)) continue
    const meant = nearest(key, KEYS)
    refuse(key, `there is no setting ${shown(key)}${meant === undefined ? '' : `; did you mean "${meant}"?`}`)
  }
  for (const [key, choices] of Object.entries(CHOICES)) {
    if (value[key] !== undefined && !(choices as readonly unknown[]).includes(value[key])) {
      refuse(key, `"${key}" must be one of ${choices.join(', ')}`)
    }
  }
  const contexts = contextsOf(value['contexts'] ?? {}, refuse)
  const { context } = value
  if (
    context !== undefined &&
    context !== LOCAL &&
    !(typeof context === 'string' && Object.hasOwn(contexts, context))
  ) {
    refuse('context', '"context" must be "local" or one of "contexts"')
  }
  const { color, on_input } = value as Partial<Config>
  return {
    ...(typeof context === 'string' ? { context } : {}),
    ...(color === undefined ? {} : { color }),
    ...(on_input === undefined ? {} : { on_input }),
    contexts,
  }
}

function contextsOf(value: unknown, refuse: (key: string, problem: string) => never): Record<string, Context> {
  if (!isObject(value)) return refuse('contexts', '"contexts" must be an object')
  const entries = Object.entries(value)
  if (entries.length > CONTEXTS_MAX) refuse('contexts', `there are more than ${CONTEXTS_MAX} contexts`)
  return Object.fromEntries(
    entries.map(([name, one]) => {
      if (!isContextName(name)) refuse(name, `${shown(name)} can't name a context`)
      if (!isObject(one)) return refuse(name, `the context ${shown(name)} must be an object`)
      const { url, token, ...others } = one
      if (Object.keys(others).length > 0) refuse(name, `the context ${shown(name)} has only "url" and "token"`)
      if (typeof url !== 'string' || !isServerUrl(url)) {
        return refuse(name, `the url of the context ${shown(name)} must be http(s)://host[:port][/prefix]`)
      }
      if (token !== undefined && !(typeof token === 'string' && TOKEN.test(token))) {
        return refuse(name, `the token of the context ${shown(name)} is not a token`)
      }
      return [name, { url, ...(token === undefined ? {} : { token: token as string }) }]
    }),
  )
}

function isServerUrl(text: string): boolean {
  if (!URL.canParse(text) || text.length > 2_000) return false
  const url = new URL(text)
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  return (url.protocol === 'http:' || url.protocol === 'https:') && isPlain
}

/** Control characters of a hostile file must not reach the terminal. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 60)).replace(/[^\x20-\x7e]/g, '?')
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function invalid(path: string, line: number | undefined, problem: string): ResolveError {
  return fail('config_invalid', { path, problem, ...(line === undefined ? {} : { line }) })
}
