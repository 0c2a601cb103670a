// What a public bench for engines of this language calls: conformance parse|validate|run FILE, conformance list-handlers.
import { spawnSync } from 'node:child_process'

const [program, verb, ...files] = process.argv.slice(2)
const { status, stdout } = spawnSync(
  process.execPath,
  [program, 'pipeline', { validate: 'check', 'list-handlers': 'handlers' }[verb] ?? verb, ...files, '--json'],
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
)
console.log(verb === 'list-handlers' ? JSON.stringify(JSON.parse(stdout).handlers.map(({ name }) => name)) : stdout)
process.exitCode = status ?? 1
