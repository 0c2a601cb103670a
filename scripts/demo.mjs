/**
 * The demo: the resolver `tour` with recorded answers, then the resolver `agent` with a scripted model, in a repository that is made for it
 * and removed again. task.mjs runs it after the build, with Node 24; arguments go to the tour.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const filesOf = (resolver) => join(root, 'dist', 'resolvers', resolver)

/** Runs the built program in this terminal, and gives its exit code. */
function resolve(args, env = {}) {
  const program = join(root, 'bin', 'run.js')
  const { status } = spawnSync(process.execPath, [program, ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  return status ?? 1
}

function say(line) {
  process.stderr.write(`${line}\n`)
}

function tour() {
  return resolve(['run', 'tour', '--answers', join(filesOf('tour'), 'answers.json'), ...process.argv.slice(2)])
}

function agent() {
  const place = mkdtempSync(join(tmpdir(), 'resolve-demo-'))
  try {
    const repository = join(place, 'greetings')
    makeRepository(repository)
    say(
      '\nAn agent works in a repository. Its model is scripted: the answers were written in advance, the tools run for real.',
    )
    const input = { task: 'Write greet.sh and its test', repository, model: 'scripted/example.json' }
    const fields = Object.entries(input).flatMap(([name, value]) => ['-i', `${name}=${value}`])
    const answers = ['--answers', join(filesOf('agent'), 'answers.json')]
    const code = resolve(['run', 'agent', ...fields, ...answers], { RESOLVE_GIT_LOCAL: place })
    if (code !== 0) return code
    say('\nWhat the scripted model did, and the change:\n')
    return resolve(['instance', 'transcript', '@last']) || resolve(['instance', 'diff', '@last', '--patch'])
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

function makeRepository(path) {
  const git = (...args) => execFileSync('git', args, { cwd: path, stdio: 'ignore' })
  mkdirSync(path)
  writeFileSync(join(path, 'README.md'), '# Greetings\n')
  git('init', '--initial-branch=main')
  git('add', '.')
  const identity = ['-c', 'user.name=demo', '-c', 'user.email=demo@localhost', '-c', 'commit.gpgsign=false']
  git(...identity, 'commit', '--no-verify', '-m', 'A page')
}

process.exitCode = tour() || agent()
