#!/usr/bin/env node
/**
 * Shows that the scripted LLM server of the tests speaks its protocols: Claude Code, Codex, opencode and Gemini CLI each write a file by their
 * shell against it. They have up to 400 MB each, so they are no dependencies: one that is in PATH is used, another is installed to a temporary
 * directory and removed after. One that can't be had is left out, and named. `npm run proof:agents [-- <agent> …]` runs it.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { LlmServer } = await import('../test/support/llm-server.ts')

const root = fileURLToPath(new URL('..', import.meta.url))
const FREE_BYTES = 2 * 1024 ** 3
const INSTALL_MS = 5 * 60_000
const RUN_MS = 4 * 60_000
const PROMPT = 'Write the word proven into the file made.txt with your shell, then say that it is done.'
const COMMAND = 'printf proven > made.txt'

const platform = `${process.platform}-${process.arch}`

/** `programs`: where the package has it, first match. `dialects`: the protocols that it may speak. */
const AGENTS = {
  claude: {
    title: 'Claude Code',
    package: '@anthropic-ai/claude-code@2.1.330',
    programs: [`@anthropic-ai/claude-code-${platform}/claude`, '.bin/claude'],
    dialect: 'anthropic',
    args: () => [
      ...['-p', PROMPT, '--output-format', 'stream-json', '--verbose', '--setting-sources', ''],
      ...['--strict-mcp-config', '--allowedTools', 'Bash'],
    ],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'sk-ant-of-the-proof',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
  },
  codex: {
    title: 'Codex',
    package: '@openai/codex@0.169.0',
    programs: ['.bin/codex'],
    dialect: 'openai',
    args: (url) => [
      ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
      ...['-c', `model_providers.proof={name="proof",base_url="${url}/v1",env_key="PROOF_KEY",wire_api="responses"}`],
      ...['-c', 'model_provider="proof"', '-m', 'gpt-5', PROMPT],
    ],
    env: (_, home) => ({ PROOF_KEY: 'key-of-the-proof', CODEX_HOME: home }),
  },
  opencode: {
    title: 'opencode',
    package: 'opencode-ai@1.18.33',
    programs: [`opencode-${platform}/bin/opencode`, '.bin/opencode'],
    dialect: 'openai-compatible',
    args: () => ['run', '--format', 'json', '-m', 'proof/test', PROMPT],
    env: (url, home) => {
      const provider = {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${url}/v1`, apiKey: 'key-of-the-proof' },
        models: { test: { name: 'test' } },
      }
      const config = join(home, 'opencode.json')
      writeFileSync(config, JSON.stringify({ provider: { proof: provider }, permission: 'allow', autoupdate: false }))
      return { OPENCODE_CONFIG: config, OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }
    },
  },
  gemini: {
    title: 'Gemini CLI',
    package: '@google/gemini-cli@0.61.0',
    programs: ['.bin/gemini'],
    dialect: 'google',
    // A named model: else it asks another one first which to use.
    args: () => ['-m', 'gemini-2.5-pro', '-p', PROMPT, '--yolo', '--output-format', 'stream-json', '--skip-trust'],
    env: (url, home) => {
      mkdirSync(join(home, '.gemini'))
      const settings = { security: { auth: { selectedType: 'gemini-api-key' } } }
      writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings))
      return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'AIza-of-the-proof', GEMINI_CLI_TRUST_WORKSPACE: 'true' }
    },
  },
}

async function main() {
  const unknown = process.argv.slice(2).filter((name) => !Object.hasOwn(AGENTS, name))
  if (unknown.length > 0)
    throw new Error(`There is no agent ${unknown.join(', ')}; there are: ${Object.keys(AGENTS).join(', ')}.`)
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(AGENTS)
  const llm = await LlmServer.start()
  let isShown = true
  try {
    for (const name of names) isShown = (await prove(AGENTS[name], llm)) && isShown
  } finally {
    await llm.close()
  }
  if (!isShown) process.exitCode = 1
}

/** False where it ran, and did not do what it was told. */
async function prove(agent, llm) {
  const place = mkdtempSync(join(tmpdir(), 'resolve-proof-agent-'))
  try {
    const found = findInPath(agent) ?? (await install(agent, place))
    if ('reason' in found) {
      console.log(`SKIPPED ${agent.title}: ${found.reason}`)
      return true
    }
    const [home, work] = [join(place, 'home'), join(place, 'work')]
    for (const one of [home, work]) mkdirSync(one)
    llm.script([answer])
    const { PATH, LANG = 'C.UTF-8' } = process.env
    const env = { PATH, LANG, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, ...agent.env(llm.url, home) }
    const ran = await run(found.program, agent.args(llm.url), { cwd: work, env, limitMs: RUN_MS })
    const made = join(work, 'made.txt')
    const isWritten = existsSync(made) && readFileSync(made, 'utf8') === 'proven'
    const dialects = [...new Set(llm.requests.map(({ dialect }) => dialect))]
    const about = `${agent.title} (${found.version}): ${llm.requests.length} requests by ${dialects.join(', ') || 'no protocol'}`
    if (isWritten && ran.code === 0 && dialects.includes(agent.dialect)) {
      console.log(`✓ ${about}; its shell wrote the file (${ran.seconds.toFixed(1)} s)`)
      return true
    }
    for (const { url, text } of llm.requests) console.error(`${url} ${text.slice(0, 300)}`)
    console.error(
      `${ran.output.slice(-6_000)}\n✗ ${about}; it ended with ${ran.code}, the file was ${isWritten ? '' : 'not '}written`,
    )
    return false
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}

/** Calls the shell once where one is offered; its result, and requests without tools, are answered by words. */
function answer(request) {
  const shell = toolsOf(request).find(({ name }) =>
    /^(?:bash|shell|exec_command|run_shell_command|shell_command)$/i.test(name),
  )
  const hasResult = /"(?:tool_result|function_call_output|functionResponse|tool_call_id)"/.test(request.text)
  if (shell === undefined || hasResult) return { text: 'It is done.' }
  return { text: 'I write it.', calls: [{ tool: shell.name, input: inputFor(shell.schema) }] }
}

function toolsOf({ dialect, body }) {
  const tools = Array.isArray(body.tools) ? body.tools : []
  if (dialect === 'anthropic') return tools.map((one) => ({ name: one.name, schema: one.input_schema }))
  if (dialect === 'openai') return tools.map((one) => ({ name: one.name ?? '', schema: one.parameters }))
  if (dialect === 'openai-compatible')
    return tools.map((one) => ({ name: one.function.name, schema: one.function.parameters }))
  const declared = tools.flatMap((one) => one.functionDeclarations ?? [])
  return declared.map((one) => ({ name: one.name, schema: one.parametersJsonSchema ?? one.parameters }))
}

function inputFor({ properties = {}, required = [] } = {}) {
  const field = ['command', 'cmd', 'script'].find((one) => Object.hasOwn(properties, one)) ?? 'command'
  const isList = String(properties[field]?.type).toLowerCase() === 'array'
  const words = required.filter((one) => one !== field && String(properties[one]?.type).toLowerCase() === 'string')
  const others = Object.fromEntries(words.map((one) => [one, 'Writes a file']))
  return { ...others, [field]: isList ? ['bash', '-c', COMMAND] : COMMAND }
}

function findInPath({ programs }) {
  const name = programs.at(-1).slice('.bin/'.length)
  const paths = (process.env.PATH ?? '').split(delimiter).map((one) => join(one, name))
  const program = paths.find((one) => existsSync(one) && !one.startsWith(join(root, 'node_modules')))
  return program === undefined ? undefined : { program, version: 'from PATH' }
}

async function install(agent, place) {
  const { bavail, bsize } = statfsSync(place)
  if (bavail * bsize < FREE_BYTES) return { reason: `less than ${FREE_BYTES / 1024 ** 3} GiB are free in ${tmpdir()}` }
  const prefix = join(place, 'installed')
  mkdirSync(prefix)
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel', 'error']
  const { code, output } = await run('npm', ['i', '--prefix', prefix, ...flags, agent.package], {
    ...{ cwd: place, env: process.env, limitMs: INSTALL_MS },
  })
  if (code !== 0) return { reason: `npm can't install ${agent.package}: ${output.trim().split('\n').at(-1)}` }
  const places = agent.programs.map((one) => join(prefix, 'node_modules', one))
  const program = places.find((one) => existsSync(one))
  if (program === undefined) return { reason: `${agent.package} has no program for ${platform}` }
  return { program, version: agent.package.slice(agent.package.lastIndexOf('@') + 1) }
}

async function run(program, args, { cwd, env, limitMs }) {
  const began = Date.now()
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => (output = (output + part).slice(-100_000)))
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  const timer = setTimeout(end, limitMs)
  const code = await new Promise((resolve) => {
    child.on('error', (error) => {
      output += error.message
      resolve(null)
    })
    child.on('exit', (status, signal) => resolve(status ?? signal))
  })
  clearTimeout(timer)
  // What it left running.
  end()
  return { code, output, seconds: (Date.now() - began) / 1000 }
}

await main()
