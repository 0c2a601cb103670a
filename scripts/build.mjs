/**
 * Builds dist/ when one of its sources changed: tsup bundles, vite builds the web page, tsc writes declarations, and the files
 * of built-in resolvers are copied. Everything is built in a separate folder first and then moved into place file by file, so
 * that a program started meanwhile still finds its parts. task.mjs runs it, with Node 24.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
const stamp = join(dist, '.stamp')
const made = join(root, `.dist-${process.pid}`)

const sources = [
  'src',
  'scripts/build.mjs',
  'tsup.config.ts',
  'vite.config.ts',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'package-lock.json',
]

function main() {
  const hash = hashOf(sources)
  if (readOrEmpty(stamp) === hash) return
  const began = Date.now()
  process.on('exit', () => fs.rmSync(made, { recursive: true, force: true }))
  run('tsup', ['tsup/dist/cli-default.js'], { RESOLVE_BUILD_DIR: relative(root, made) })
  const types = join(made, 'types')
  // `npm run types` checks types; here only declarations are written.
  run('tsc', ['typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck', '--outDir', types])
  run('vite', ['vite/bin/vite.js', 'build'], { RESOLVE_BUILD_DIR: relative(root, made) }, /^The page's.*$/m)
  copyResolverFiles()
  copyPlaywright()
  writeNotices()
  putInPlace(hash)
  process.stderr.write(`Built in ${((Date.now() - began) / 1000).toFixed(1)} s.\n`)
}

function hashOf(paths) {
  const hash = createHash('sha256').update(process.version)
  for (const path of paths) {
    for (const file of filesBelow(join(root, path))) {
      hash.update(relative(root, file)).update('\0').update(fs.readFileSync(file)).update('\0')
    }
  }
  return hash.digest('hex')
}

/** Every file below a path, sorted; the path itself where it is a file, nothing where it is missing. */
function filesBelow(path) {
  const found = fs.statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return []
  if (found.isFile()) return [path]
  return fs
    .readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)))
}

/** `told`: the line of its output to print. */
function run(name, [program, ...args], extra = {}, told = undefined) {
  const child = spawnSync(process.execPath, [join(root, 'node_modules', program), ...args], {
    cwd: root,
    env: { ...process.env, ...extra },
    encoding: 'utf8',
  })
  if (child.status === 0) {
    const [line] = (told && child.stderr.match(told)) ?? []
    if (line !== undefined) process.stderr.write(`${line}\n`)
    return
  }
  process.stderr.write(
    `${child.stdout}${child.stderr}\n${name} ended with ${child.status ?? child.signal}: dist was left as it was.\n`,
  )
  process.exit(1)
}

/** The other files of a built-in resolver: its manifest and its recorded answers. */
function copyResolverFiles() {
  const from = join(root, 'src', 'resolvers')
  for (const file of filesBelow(from)) {
    if (/\.tsx?$/.test(file)) continue
    const to = join(made, 'resolvers', relative(from, file))
    fs.mkdirSync(dirname(to), { recursive: true })
    fs.copyFileSync(file, to)
  }
}

/** What the validator loads of Playwright, as it is: its code finds its files by their places, so that it can't be bundled. */
function copyPlaywright() {
  const from = join(root, 'node_modules', 'playwright-core')
  const code = ['bootstrap', 'coreBundle', 'utilsBundle', 'package'].map((name) => `lib/${name}.js`)
  const terms = ['LICENSE', 'NOTICE', 'ThirdPartyNotices.txt', 'lib/utilsBundle.js.LICENSE']
  for (const file of ['index.js', 'package.json', 'browsers.json', ...code, ...terms]) {
    const to = join(made, 'validator', 'playwright', file)
    fs.mkdirSync(dirname(to), { recursive: true })
    fs.copyFileSync(join(from, file), to)
  }
  // It is part of this package, no package of its own: only its name and version are read.
  const place = join(made, 'validator', 'playwright', 'package.json')
  const { name, version, license } = JSON.parse(fs.readFileSync(place, 'utf8'))
  fs.writeFileSync(place, `${JSON.stringify({ name, version, license, main: 'index.js' }, null, 2)}\n`)
}

/** The licences of bundled packages, as their terms require. esbuild names each bundled module; the page lists its packages. */
function writeNotices() {
  const listed = join(made, 'web', 'packages.json')
  const packages = new Set(JSON.parse(fs.readFileSync(listed, 'utf8')))
  fs.rmSync(listed)
  // Playwright is there with its own terms, and with those of the packages in it.
  packages.add('node_modules/playwright-core/')
  for (const file of filesBelow(made).filter((name) => /\.c?js$/.test(name) && !name.includes('/playwright/'))) {
    const text = fs.readFileSync(file, 'utf8')
    for (const [, path] of text.matchAll(/^ *\/\/ ((?:node_modules\/(?:@[^/\n]+\/)?[^/\n]+\/)+)/gm)) packages.add(path)
  }
  const notices = [...packages].sort().map((path) => {
    const { name, version, license } = JSON.parse(fs.readFileSync(join(root, path, 'package.json'), 'utf8'))
    const file = fs.readdirSync(join(root, path)).find((candidate) => /^licen[cs]e/i.test(candidate))
    const text = file === undefined ? '' : `\n${fs.readFileSync(join(root, path, file), 'utf8').trim()}\n`
    return `${name} ${version} (${license})\n${text}`
  })
  const rule = `\n${'-'.repeat(80)}\n\n`
  fs.writeFileSync(
    join(made, 'NOTICES.txt'),
    ['Code of these packages is part of the files beside this one.\n', ...notices].join(rule),
  )
}

/** Shared parts first, then the programs that use them; files that are no longer built are removed last. */
function putInPlace(hash) {
  fs.rmSync(stamp, { force: true })
  const files = filesBelow(made).map((file) => relative(made, file))
  const isShared = (file) => /^(?:parts|late|web\/assets)\//.test(file)
  for (const file of [...files.filter(isShared), ...files.filter((file) => !isShared(file))]) {
    fs.mkdirSync(dirname(join(dist, file)), { recursive: true })
    fs.renameSync(join(made, file), join(dist, file))
  }
  const kept = new Set(files)
  for (const file of filesBelow(dist)) if (!kept.has(relative(dist, file))) fs.rmSync(file)
  fs.writeFileSync(stamp, hash)
}

function readOrEmpty(path) {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

main()
