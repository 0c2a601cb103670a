/** Detects Python software: its dependencies in a venv at `.venv`, its framework and how that is started. */
import { CHECK_CODE_FILE_MAX_BYTES } from '../../limits.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import { type Found, need, nothingFound } from './found.ts'
import { portInCode } from './ports.ts'
import { pythonDependencies } from './python-dependencies.ts'
import type { TreeReader } from './tree-reader.ts'

const PORT = 8000
const MAINS = ['main.py', 'app.py', 'server.py', 'run.py', 'api.py', 'wsgi.py', 'asgi.py', '__main__.py']
const FOLDERS = ['', 'app', 'src', 'api', 'src/app', 'backend', 'server']
const ASGI = /^(\w+)(?:\s*:\s*\w+)?\s*=\s*(?:\w+\.)?(?:FastAPI|Starlette|Litestar|Quart)\(/m
const WSGI = /^(\w+)(?:\s*:\s*\w+)?\s*=\s*(?:\w+\.)?(?:Flask|Bottle)\(|^(\w+)\s*=\s*create_app\(/m
const SERVES =
  /HTTPServer|http\.server|socketserver|asyncio\.start_server|\.run\(|serve_forever|\.listen\(|make_server|run_app/

type Start = Pick<Found, 'type' | 'start' | 'port' | 'because'> & { build?: string }

interface Software {
  tree: TreeReader
  names: Set<string>
  python: string
  codes: [path: string, code: string][]
}

export async function detectPython(tree: TreeReader): Promise<Found | undefined> {
  const dependencies = await pythonDependencies(tree)
  const isNode = await tree.has('package.json')
  const bare = isNode ? undefined : await tree.firstOf(['manage.py', 'main.py', 'app.py', 'server.py'])
  if (dependencies === undefined && bare === undefined) return undefined
  const install = dependencies?.install ?? null
  const found: Found = {
    ...nothingFound('python', dependencies === undefined ? [] : [dependencies.sign]),
    fetch: dependencies?.fetch ?? null,
    install,
    env: { PYTHONUNBUFFERED: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
    needs: [need('python3', dependencies?.wanted)],
    paths: install === null ? [] : ['.venv/bin'],
  }
  const python = install === null ? 'python3' : '.venv/bin/python'
  const software: Software = { tree, names: dependencies?.names ?? new Set(), python, codes: await codesOf(tree) }
  const scripts = dependencies?.scripts ?? []
  const start = (await django(software)) ?? framework(software) ?? program(software, scripts.length > 0)
  if (start === undefined)
    return { ...found, type: scripts.length > 0 ? 'cli_tool' : dependencies?.isPackage ? 'library' : null }
  const { build = null, ...rest } = start
  const hasPages = (await tree.has('templates', 'directory')) || (await tree.has('static', 'directory'))
  const type = rest.type === 'api_service' && hasPages ? 'web_app' : rest.type
  return { ...found, ...rest, type, build, because: [...found.because, ...rest.because] }
}

async function codesOf(tree: TreeReader): Promise<[string, string][]> {
  const inner = (await tree.directories()).filter(
    (name) => /^[A-Za-z]\w*$/.test(name) && !/^(?:tests?|docs)$/.test(name),
  )
  const nested = (await tree.directories('src')).map((name) => `src/${name}`)
  const folders = [...new Set([...FOLDERS, ...inner.slice(0, 20), ...nested.slice(0, 10)])]
  const paths = folders.flatMap((folder) =>
    [...MAINS, '__init__.py'].map((name) => (folder === '' ? name : `${folder}/${name}`)),
  )
  const there = (await Promise.all(paths.map(async (path) => ((await tree.has(path)) ? path : '')))).filter(Boolean)
  return Promise.all(
    there.map(async (path) => [path, await tree.text(path, CHECK_CODE_FILE_MAX_BYTES)] as [string, string]),
  )
}

async function django({ tree, names, python }: Software): Promise<Start | undefined> {
  if (!(await tree.has('manage.py'))) return undefined
  const settings = /DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)/.exec(await tree.text('manage.py'))?.[1]
  const project = settings?.split('.')[0]
  const hasWsgi = project !== undefined && (await tree.has(`${project}/wsgi.py`))
  return {
    type: 'web_app',
    build: `${python} manage.py migrate --noinput`,
    start:
      names.has('gunicorn') && hasWsgi
        ? `${python} -m gunicorn --bind "0.0.0.0:$PORT" ${project}.wsgi:application`
        : `${python} manage.py runserver --noreload "0.0.0.0:$PORT"`,
    port: PORT,
    because: ['manage.py'],
  }
}

function framework({ names, python, codes }: Software): Start | undefined {
  const script = codes.find(([, code]) => /^\s*import streamlit/m.test(code))
  if (script !== undefined && names.has('streamlit')) {
    const start = `${python} -m streamlit run ${quoteWord(script[0])} --server.port "$PORT" --server.headless true`
    return { type: 'web_app', start, port: 8501, because: [script[0]] }
  }
  for (const [path, code] of codes) {
    const asgi = ASGI.exec(code)?.[1]
    if (asgi !== undefined) {
      const { name, options } = moduleOf(path, code)
      const start = `${python} -m uvicorn ${options}${name}:${asgi} --host 0.0.0.0 --port "$PORT"`
      return { type: 'api_service', start, port: PORT, because: [`${path} ${asgi}`] }
    }
    const wsgi = WSGI.exec(code)
    const factory = /^def create_app\(/m.test(code) ? 'create_app' : undefined
    const flask = wsgi?.[1] ?? wsgi?.[2] ?? factory
    if (flask !== undefined && (names.has('flask') || names.has('bottle') || /import Flask/.test(code)))
      return flaskStart(python, names, path, code, flask)
  }
  return undefined
}

/** A program that starts its own server may prepare its data there first, so it is run as its author runs it. */
function flaskStart(python: string, names: Set<string>, path: string, code: string, variable: string): Start {
  const { name } = moduleOf(path, code)
  const call = variable === 'create_app' ? 'create_app()' : variable
  const known = { type: 'api_service' as const, because: [`${path} ${variable}`] }
  if (names.has('gunicorn'))
    return {
      ...known,
      start: `${python} -m gunicorn --bind "0.0.0.0:$PORT" ${quoteWord(`${name}:${call}`)}`,
      port: PORT,
    }
  if (/__main__/.test(code) && /\brun\(/.test(code)) {
    const port = /environ|getenv/.test(code) ? 5000 : (portInCode(code) ?? 5000)
    return { ...known, start: `${python} ${quoteWord(path)}`, port }
  }
  return {
    ...known,
    start: `${python} -m flask --app ${quoteWord(`${name}:${call}`)} run --host 0.0.0.0 --port "$PORT"`,
    port: PORT,
  }
}

/** The name that a file is imported by. Files below `src` that do not name it are imported from there. */
function moduleOf(path: string, code: string): { name: string; options: string } {
  const isBelowSource = path.startsWith('src/') && !/^\s*(?:from|import) src\b/m.test(code)
  const name = (isBelowSource ? path.slice(4) : path)
    .replace(/\.py$/, '')
    .replace(/\/__init__$/, '')
    .replaceAll('/', '.')
  return { name, options: isBelowSource ? '--app-dir src ' : '' }
}

function program({ python, codes, names }: Software, hasScripts: boolean): Start | undefined {
  const runs = codes.filter(
    ([path]) => !path.endsWith('__init__.py') && (!path.includes('/') || /main\.py$/.test(path)),
  )
  const server = runs.find(([, code]) => SERVES.test(code))
  const isServer =
    server !== undefined || ['aiohttp', 'tornado', 'gradio', 'sanic', 'dash'].some((name) => names.has(name))
  const chosen = server ?? runs[0]
  if (chosen === undefined || (hasScripts && !isServer)) return undefined
  const [path, code] = chosen
  const because = [path]
  const isTool = !isServer && /argparse|\bclick\b|typer|sys\.argv|docopt|\binput\(/.test(code)
  if (isTool) return { type: 'cli_tool', start: null, port: null, because }
  const run =
    path.endsWith('/__main__.py') && !path.startsWith('src/')
      ? `-m ${moduleOf(path, code).name.replace(/\.__main__$/, '')}`
      : quoteWord(path)
  const port = names.has('gradio') ? 7860 : /environ|getenv/.test(code) ? PORT : (portInCode(code) ?? PORT)
  return { type: 'api_service', start: `${python} ${run}`, port, because }
}
