/** How the plan of a reality check understands usual source trees, a row each (docs/reality-check.md, How it finds out what to run). */
import { expect, test } from 'vitest'
import { type Files, json, planOf } from './support.ts'

type Expected = Partial<Awaited<ReturnType<typeof planOf>>>

const lock = '{"lockfileVersion":3}'
const pkg = (fields: object) => ({ 'package.json': json(fields) })
const poetry = '[build-system]\nrequires = ["poetry-core"]\nbuild-backend = "poetry.core.masonry.api"\n'
const fastapi = 'from fastapi import FastAPI\napp = FastAPI()\n'
const flask = 'from flask import Flask\napp = Flask(__name__)\n'
const goServer = 'package main\nimport "net/http"\nfunc main() { http.ListenAndServe(":9090", nil) }\n'
const static8080 = (directory: string) => ({ start: `node /var/tmp/room/static-server.mjs ${directory}`, port: 8080 })
const venvRequirements =
  'python3 -m venv .venv && .venv/bin/pip install --no-index --find-links "$RESOLVE_CACHE/wheels" -r requirements.txt'

const rows: [name: string, files: Files, expected: Expected][] = [
  [
    'Express with a lock',
    {
      ...pkg({ scripts: { start: 'node server.js' }, dependencies: { express: '4' } }),
      'package-lock.json': lock,
      'server.js': 'app.listen(process.env.PORT || 4000)',
    },
    {
      language: 'node',
      type: 'api_service',
      fetch: {
        command: 'npm ci --ignore-scripts --cache "$RESOLVE_CACHE/npm" --no-audit --no-fund',
        files: ['package.json', 'package-lock.json'],
      },
      install: 'npm ci --offline --cache "$RESOLVE_CACHE/npm" --no-audit --no-fund',
      build: null,
      start: 'npm start',
      port: 3000,
      workdir: '.',
      because: ['package.json', 'package-lock.json', 'package.json scripts.start'],
    },
  ],
  [
    'Express with a port in its code',
    {
      ...pkg({ scripts: { start: 'node src/app.js' }, dependencies: { express: '4' } }),
      'src/app.js': 'app.listen(4000)',
    },
    { port: 4000 },
  ],
  [
    'npm without a lock',
    pkg({ scripts: { start: 'node a.js' }, dependencies: { a: '1' } }),
    {
      install:
        'cp "$RESOLVE_CACHE/package-lock.json" . && npm ci --offline --cache "$RESOLVE_CACHE/npm" --no-audit --no-fund',
    },
  ],
  [
    'Node without packages',
    { ...pkg({ name: 'x' }), 'server.js': 'require("http").createServer(f).listen(8123)' },
    { fetch: null, install: null, start: 'node server.js', port: 8123 },
  ],
  [
    'a view engine makes pages',
    pkg({ scripts: { start: 'node a.js' }, dependencies: { express: '4', ejs: '3' } }),
    { type: 'web_app' },
  ],
  [
    'Next',
    {
      ...pkg({ scripts: { dev: 'next dev', build: 'next build' }, dependencies: { next: '15' } }),
      'package-lock.json': lock,
    },
    { type: 'web_app', build: 'npm run build', start: 'npx --no-install next start -p "$PORT"', port: 3000 },
  ],
  [
    'Next with a start script',
    pkg({ scripts: { start: 'next start -p 4100', build: 'next build' }, dependencies: { next: '15' } }),
    { start: 'npm start', port: 4100 },
  ],
  [
    'Next exported to pages',
    {
      ...pkg({ scripts: { dev: 'next dev', build: 'next build' }, dependencies: { next: '15' } }),
      'next.config.mjs': "export default { output: 'export' }",
    },
    static8080('out'),
  ],
  [
    'Vite',
    pkg({ scripts: { dev: 'vite', build: 'vite build', preview: 'vite preview' }, devDependencies: { vite: '6' } }),
    { start: 'npm run preview', build: 'npm run build', type: 'web_app', port: 4173 },
  ],
  [
    'Vite without a preview',
    pkg({ scripts: { dev: 'vite', build: 'tsc && vite build' }, devDependencies: { vite: '6' } }),
    { ...static8080('dist'), build: 'npm run build' },
  ],
  [
    'Vite whose start is its dev server',
    pkg({ scripts: { start: 'vite --port 5173', build: 'vite build' }, devDependencies: { vite: '6' } }),
    static8080('dist'),
  ],
  [
    'Vite with another directory',
    {
      ...pkg({ scripts: { build: 'vite build' }, devDependencies: { vite: '6' } }),
      'vite.config.ts': "build: { outDir: './www' }",
    },
    static8080('www'),
  ],
  [
    'Create React App',
    pkg({
      scripts: { start: 'react-scripts start', build: 'react-scripts build' },
      dependencies: { 'react-scripts': '5' },
    }),
    static8080('build'),
  ],
  [
    'Angular',
    {
      ...pkg({ scripts: { start: 'ng serve', build: 'ng build' }, dependencies: { '@angular/core': '19' } }),
      'angular.json': json({
        projects: {
          shop: {
            architect: {
              build: { builder: '@angular-devkit/build-angular:application', options: { outputPath: 'dist/shop' } },
            },
          },
        },
      }),
    },
    static8080('dist/shop/browser'),
  ],
  [
    'Nest',
    pkg({
      scripts: { start: 'nest start', 'start:prod': 'node dist/main', build: 'nest build' },
      dependencies: { '@nestjs/core': '11' },
    }),
    { start: 'npm run start:prod', build: 'npm run build', type: 'api_service' },
  ],
  [
    'Nuxt',
    pkg({ scripts: { build: 'nuxt build', dev: 'nuxt dev' }, dependencies: { nuxt: '3' } }),
    { start: 'node .output/server/index.mjs' },
  ],
  [
    'Astro pages',
    pkg({ scripts: { start: 'astro dev', build: 'astro build' }, dependencies: { astro: '5' } }),
    static8080('dist'),
  ],
  [
    'Astro server',
    pkg({ scripts: { start: 'astro dev', build: 'astro build' }, dependencies: { astro: '5', '@astrojs/node': '9' } }),
    { start: 'node ./dist/server/entry.mjs', port: 4321 },
  ],
  [
    'SvelteKit for Node',
    pkg({
      scripts: { dev: 'vite dev', build: 'vite build' },
      devDependencies: { '@sveltejs/kit': '2', '@sveltejs/adapter-node': '5', vite: '6' },
    }),
    { start: 'node build' },
  ],
  [
    'Remix',
    pkg({
      scripts: { dev: 'remix vite:dev', build: 'remix vite:build' },
      dependencies: { '@remix-run/serve': '2' },
      devDependencies: { vite: '5' },
    }),
    { start: 'npx --no-install remix-serve ./build/server/index.js' },
  ],
  [
    'nodemon is not started',
    {
      ...pkg({ scripts: { start: 'nodemon server.js' }, dependencies: { express: '4' } }),
      'server.js': 'app.listen(process.env.PORT)',
    },
    { start: 'node server.js' },
  ],
  [
    'only a dev script',
    pkg({ scripts: { dev: 'node --watch index.js --port 5050' } }),
    { start: 'npm run dev', port: 5050 },
  ],
  [
    'TypeScript with tsx',
    {
      ...pkg({ dependencies: { fastify: '5' }, devDependencies: { tsx: '4' } }),
      'src/index.ts': 'app.listen({ port: 8081 })',
    },
    { start: 'npx --no-install tsx src/index.ts', port: 8081 },
  ],
  [
    'pnpm by its lock',
    {
      ...pkg({ scripts: { start: 'node a.js' }, dependencies: { a: '1' } }),
      'pnpm-lock.yaml': "lockfileVersion: '6.0'\n",
    },
    {
      start: 'npm_config_cache="$RESOLVE_CACHE/npm" npx --yes --offline pnpm@8 run start',
      because: ['package.json', 'pnpm-lock.yaml', 'package.json scripts.start'],
    },
  ],
  [
    'pnpm by packageManager',
    {
      ...pkg({ packageManager: 'pnpm@9.1.0+sha512.abc', scripts: { start: 'node a.js' }, dependencies: { a: '1' } }),
      'pnpm-lock.yaml': 'lockfileVersion: 9',
      'package-lock.json': lock,
    },
    {
      install:
        'npm_config_cache="$RESOLVE_CACHE/npm" npx --yes --offline pnpm@9.1.0 install --offline --frozen-lockfile --store-dir "$RESOLVE_CACHE/pnpm"',
    },
  ],
  [
    'yarn 1',
    { ...pkg({ scripts: { start: 'node a.js' }, dependencies: { a: '1' } }), 'yarn.lock': '# yarn lockfile v1\n' },
    {
      start:
        'YARN_CACHE_FOLDER="$RESOLVE_CACHE/yarn" npm_config_cache="$RESOLVE_CACHE/npm" npx --yes --offline --package yarn@1 yarn run start',
    },
  ],
  [
    'bun',
    { ...pkg({ scripts: { start: 'bun run index.ts' }, dependencies: { a: '1' } }), 'bun.lock': '{}' },
    { start: 'bun run start', needs: ['node*', 'bun*'] },
  ],
  [
    'engines',
    pkg({ engines: { node: '>=22.3 <25' }, scripts: { start: 'node a.js' } }),
    { needs: ['node>=22.3', 'npm*'] },
  ],
  ['.nvmrc', { ...pkg({ scripts: { start: 'node a.js' } }), '.nvmrc': 'v20.11.0\n' }, { needs: ['node>=20', 'npm*'] }],
  [
    'alternative engines',
    pkg({ engines: { node: '^20.9 || ^18.18 || >=21' }, scripts: { start: 'node a.js' } }),
    { needs: ['node>=18.18', 'npm*'] },
  ],
  [
    'npm workspaces with one program',
    {
      ...pkg({ workspaces: ['apps/*'] }),
      'package-lock.json': lock,
      'apps/web/package.json': json({ scripts: { start: 'node a.js', build: 'tsc' } }),
      'apps/ui/package.json': '{}',
    },
    {
      build: 'cd apps/web && npm run build',
      start: 'cd apps/web && npm start',
      fetch: {
        command: 'npm ci --ignore-scripts --cache "$RESOLVE_CACHE/npm" --no-audit --no-fund',
        files: ['package.json', 'package-lock.json', 'apps/web/package.json', 'apps/ui/package.json'],
      },
    },
  ],
  [
    'a Node tool',
    { ...pkg({ name: '@me/notes', bin: './cli.js' }), 'cli.js': '' },
    {
      type: 'cli_tool',
      start: null,
      port: null,
      build: 'mkdir -p .resolve-bin && chmod +x cli.js && ln -sf ../cli.js .resolve-bin/notes',
      paths: ['.resolve-bin', 'node_modules/.bin'],
    },
  ],
  [
    'a Node library',
    { ...pkg({ main: 'index.js' }), 'index.js': 'module.exports = 1' },
    { type: 'library', start: null, port: null },
  ],
  [
    'Flask with gunicorn',
    { 'requirements.txt': 'Flask==3.0\ngunicorn\n', 'app.py': flask },
    {
      language: 'python',
      start: '.venv/bin/python -m gunicorn --bind "0.0.0.0:$PORT" app:app',
      port: 8000,
      install: venvRequirements,
      fetch: {
        command: 'python3 -m pip download --only-binary :all: -d "$RESOLVE_CACHE/wheels" -r requirements.txt',
        files: ['requirements.txt'],
      },
    },
  ],
  [
    'Flask that runs itself',
    { 'requirements.txt': 'flask', 'app.py': `${flask}if __name__ == '__main__':\n  init_db()\n  app.run(port=5001)` },
    { start: '.venv/bin/python app.py', port: 5001 },
  ],
  [
    'Flask without a main',
    { 'requirements.txt': 'flask', 'app.py': flask },
    { start: '.venv/bin/python -m flask --app app:app run --host 0.0.0.0 --port "$PORT"' },
  ],
  [
    'Flask factory',
    {
      'requirements.txt': 'flask',
      'shop/__init__.py': 'from flask import Flask\ndef create_app():\n  return Flask(__name__)',
    },
    { start: `.venv/bin/python -m flask --app 'shop:create_app()' run --host 0.0.0.0 --port "$PORT"` },
  ],
  [
    'FastAPI',
    { 'requirements.txt': 'fastapi\nuvicorn[standard]', 'main.py': fastapi },
    { type: 'api_service', start: '.venv/bin/python -m uvicorn main:app --host 0.0.0.0 --port "$PORT"', port: 8000 },
  ],
  [
    'FastAPI in a package',
    { 'requirements.txt': 'fastapi', 'app/__init__.py': '', 'app/main.py': fastapi.replace('app =', 'api: FastAPI =') },
    { start: '.venv/bin/python -m uvicorn app.main:api --host 0.0.0.0 --port "$PORT"' },
  ],
  [
    'FastAPI below src',
    { 'requirements.txt': 'fastapi', 'src/main.py': fastapi },
    { start: '.venv/bin/python -m uvicorn --app-dir src main:app --host 0.0.0.0 --port "$PORT"' },
  ],
  [
    'FastAPI by pyproject',
    {
      'pyproject.toml': '[project]\nname = "x"\nrequires-python = ">=3.11"\ndependencies = ["fastapi>=0.115"]',
      'main.py': fastapi,
    },
    {
      needs: ['python3>=3.11'],
      install: `python3 -m venv .venv && .venv/bin/pip install --no-index --find-links "$RESOLVE_CACHE/wheels" 'fastapi>=0.115'`,
    },
  ],
  [
    'uv.lock bounds versions',
    {
      'pyproject.toml': '[project]\nname = "x"\ndependencies = ["fastapi"]',
      'uv.lock': '[[package]]\nname = "fastapi"\nversion = "0.115.0"\n[[package]]\nname = "x"\nversion = "0.1.0"\n',
      'main.py': fastapi,
    },
    {
      fetch: {
        command: `printf '%s\\n' fastapi==0.115.0 x==0.1.0 > "$RESOLVE_CACHE/constraints.txt" && python3 -m pip download --only-binary :all: -d "$RESOLVE_CACHE/wheels" -c "$RESOLVE_CACHE/constraints.txt" fastapi`,
        files: ['pyproject.toml', 'uv.lock'],
      },
    },
  ],
  [
    'Poetry',
    {
      'pyproject.toml': `${poetry}[tool.poetry.dependencies]\npython = "^3.10"\nflask = "^3.0.1"\nrequests = { version = "~2.31", extras = ["socks"] }\n`,
      'app.py': flask,
    },
    {
      needs: ['python3>=3.10'],
      install: `python3 -m venv .venv && .venv/bin/pip install --no-index --find-links "$RESOLVE_CACHE/wheels" 'flask>=3.0.1,<4' 'requests[socks]>=2.31,<2.32'`,
    },
  ],
  [
    'Pipfile',
    { Pipfile: '[packages]\nflask = "*"\nredis = "==5.0"\n[requires]\npython_version = "3.12"\n', 'app.py': flask },
    {
      needs: ['python3>=3.12'],
      install:
        'python3 -m venv .venv && .venv/bin/pip install --no-index --find-links "$RESOLVE_CACHE/wheels" flask redis==5.0',
    },
  ],
  [
    'Django',
    {
      'requirements.txt': 'Django>=5',
      'manage.py': "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')",
      'shop/wsgi.py': '',
    },
    {
      type: 'web_app',
      build: '.venv/bin/python manage.py migrate --noinput',
      start: '.venv/bin/python manage.py runserver --noreload "0.0.0.0:$PORT"',
    },
  ],
  [
    'Django with gunicorn',
    {
      'requirements.txt': 'Django\ngunicorn',
      'manage.py': "'DJANGO_SETTINGS_MODULE', 'shop.settings'",
      'shop/wsgi.py': '',
    },
    { start: '.venv/bin/python -m gunicorn --bind "0.0.0.0:$PORT" shop.wsgi:application' },
  ],
  [
    'Streamlit',
    { 'requirements.txt': 'streamlit', 'app.py': 'import streamlit as st' },
    { type: 'web_app', port: 8501 },
  ],
  [
    'Python without packages',
    { 'server.py': 'from http.server import HTTPServer\nHTTPServer(("", 8099), H).serve_forever()' },
    { fetch: null, install: null, start: 'python3 server.py', paths: [] },
  ],
  [
    'Python that includes requirements',
    {
      'requirements.txt': '-r requirements/base.txt\n',
      'requirements/base.txt': 'flask\n-c lock.txt\n',
      'requirements/lock.txt': 'flask==3.0.0',
      'app.py': flask,
    },
    {
      fetch: {
        command: 'python3 -m pip download --only-binary :all: -d "$RESOLVE_CACHE/wheels" -r requirements.txt',
        files: ['requirements.txt', 'requirements/base.txt', 'requirements/lock.txt'],
      },
    },
  ],
  [
    'Python with a package from git waits for the install',
    { 'requirements.txt': 'flask\ngit+https://example.com/x.git\n', 'app.py': flask },
    { fetch: null, install: 'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt' },
  ],
  [
    'a Python tool',
    {
      'pyproject.toml':
        '[build-system]\nrequires = ["hatchling"]\n[project]\nname = "notes"\n[project.scripts]\nnotes = "notes:main"',
      'src/notes/__init__.py': '',
    },
    {
      type: 'cli_tool',
      start: null,
      paths: ['.venv/bin'],
      install: 'python3 -m venv .venv && .venv/bin/pip install --no-index --find-links "$RESOLVE_CACHE/wheels" -e .',
    },
  ],
  [
    'a Python script with arguments',
    { 'requirements.txt': 'rich', 'main.py': 'import argparse\n' },
    { type: 'cli_tool', start: null },
  ],
  [
    'pyproject of a linter beside Node',
    { ...pkg({ scripts: { start: 'node a.js' } }), 'pyproject.toml': '[tool.ruff]\nline-length = 100' },
    { language: 'node' },
  ],
  [
    'Go',
    {
      'go.mod': 'module example.com/shop\n\ngo 1.22\n\nrequire github.com/x/y v1.0.0\n',
      'go.sum': '',
      'main.go': goServer,
    },
    {
      language: 'go',
      type: 'api_service',
      fetch: { command: 'GOMODCACHE="$RESOLVE_CACHE/go" go mod download', files: ['go.mod', 'go.sum'] },
      install: null,
      build: 'GOMODCACHE="$RESOLVE_CACHE/go" GOPROXY=off go build -o out .',
      start: './out',
      port: 9090,
      needs: ['go>=1.22'],
    },
  ],
  [
    'Go without packages',
    { 'go.mod': 'module x\ngo 1.21', 'main.go': goServer },
    { fetch: null, build: 'GOMODCACHE="$RESOLVE_CACHE/go" go build -o out .' },
  ],
  [
    'Go with several commands',
    { 'go.mod': 'module x\ngo 1.21', 'cmd/admin/main.go': 'package main', 'cmd/server/main.go': goServer },
    { build: 'GOMODCACHE="$RESOLVE_CACHE/go" go build -o out ./cmd/server' },
  ],
  [
    'a Go tool',
    {
      'go.mod': 'module example.com/notes/v2\ngo 1.21\nrequire github.com/spf13/cobra v1.8.0',
      'main.go': 'package main\nfunc main() {}',
    },
    {
      type: 'cli_tool',
      build: 'GOMODCACHE="$RESOLVE_CACHE/go" GOPROXY=off go build -o .resolve-bin/notes .',
      start: null,
      paths: ['.resolve-bin'],
    },
  ],
  [
    'a Go library',
    { 'go.mod': 'module x\ngo 1.21', 'x.go': 'package x' },
    { type: 'library', build: 'GOMODCACHE="$RESOLVE_CACHE/go" go build ./...' },
  ],
  [
    'Go workspace',
    {
      'go.work': 'go 1.22\nuse (\n\t./api\n\t./lib\n)\n',
      'api/go.mod': 'module api\ngo 1.22\nrequire x v1.0.0',
      'api/main.go': goServer,
      'lib/go.mod': 'module lib',
      'lib/l.go': 'package lib',
    },
    { build: 'GOMODCACHE="$RESOLVE_CACHE/go" GOPROXY=off go build -o out ./api', needs: ['go>=1.22'] },
  ],
  [
    'Rust',
    {
      'Cargo.toml': '[package]\nname = "shop"\nedition = "2021"\n[dependencies]\naxum = "0.7"',
      'Cargo.lock': '',
      'src/main.rs': 'TcpListener::bind("0.0.0.0:3030")',
    },
    {
      language: 'rust',
      fetch: {
        command: 'mkdir -p src && touch src/main.rs && CARGO_HOME="$RESOLVE_CACHE/cargo" cargo fetch --locked',
        files: ['Cargo.toml', 'Cargo.lock'],
      },
      build: 'CARGO_HOME="$RESOLVE_CACHE/cargo" cargo build --release --locked --offline --bin shop',
      start: './target/release/shop',
      port: 3030,
      needs: ['cargo>=1.56'],
    },
  ],
  [
    'Rocket',
    { 'Cargo.toml': '[package]\nname = "r"\nrust-version = "1.75"\n[dependencies]\nrocket = "0.5"', 'src/main.rs': '' },
    { start: 'ROCKET_PORT="$PORT" ./target/release/r', port: 8000, needs: ['cargo>=1.75'] },
  ],
  [
    'a Rust tool',
    { 'Cargo.toml': '[package]\nname = "notes"\n[dependencies]\nclap = "4"', 'src/main.rs': 'fn main() {}' },
    { type: 'cli_tool', start: null, paths: ['target/release'] },
  ],
  [
    'a Rust library',
    { 'Cargo.toml': '[package]\nname = "lib"', 'src/lib.rs': '' },
    { type: 'library', fetch: null, build: 'CARGO_HOME="$RESOLVE_CACHE/cargo" cargo build --release' },
  ],
  [
    'Cargo workspace',
    {
      'Cargo.toml': '[workspace]\nmembers = ["crates/*"]',
      'Cargo.lock': '',
      'crates/api/Cargo.toml': '[package]\nname = "api"\n[dependencies]\nactix-web = "4"',
      'crates/api/src/main.rs': '',
      'crates/core/Cargo.toml': '[package]\nname = "core"',
      'crates/core/src/lib.rs': '',
    },
    {
      build: 'CARGO_HOME="$RESOLVE_CACHE/cargo" cargo build --release --locked --offline -p api --bin api',
      start: './target/release/api',
    },
  ],
  [
    'default-run',
    {
      'Cargo.toml': '[package]\nname = "x"\ndefault-run = "web"\n[dependencies]\naxum = "0.7"',
      'src/bin/admin.rs': '',
      'src/bin/web.rs': '',
    },
    { start: './target/release/web' },
  ],
  [
    'Maven with Spring',
    { 'pom.xml': '<java.version>21</java.version><artifactId>spring-boot-starter-web</artifactId>' },
    {
      language: 'java',
      type: 'api_service',
      build: 'mvn -B -q -DskipTests -Dmaven.repo.local="$RESOLVE_CACHE/m2" package',
      port: 8080,
      needs: ['java>=21', 'mvn*'],
    },
  ],
  [
    'Gradle wrapper with Spring',
    {
      gradlew: '',
      'build.gradle':
        "id 'org.springframework.boot'\nimplementation 'org.springframework.boot:spring-boot-starter-web'\nJavaLanguageVersion.of(17)",
    },
    {
      build: 'GRADLE_USER_HOME="$RESOLVE_CACHE/gradle" sh ./gradlew --no-daemon build -x test',
      fetch: null,
      needs: ['java>=17'],
    },
  ],
  ['a Maven library', { 'pom.xml': '<project/>' }, { type: 'library', start: null }],
  [
    'pages at the root',
    { 'index.html': '<h1>', 'style.css': '' },
    { language: 'static', type: 'web_app', ...static8080('.'), needs: ['node*'], fetch: null },
  ],
  ['pages in public', { 'public/index.html': '' }, static8080('public')],
  [
    'pages beside a manifest that says nothing',
    { ...pkg({ devDependencies: { prettier: '3' } }), 'index.html': '' },
    { language: 'static' },
  ],
  [
    'Procfile',
    {
      'requirements.txt': 'flask\ngunicorn',
      'app.py': flask,
      Procfile: 'release: python migrate.py\nweb: gunicorn app:app --bind 0.0.0.0:$PORT\n',
    },
    {
      language: 'python',
      install: venvRequirements,
      build: 'export PATH="$PWD/.venv/bin:$PATH"; python migrate.py',
      start: 'export PATH="$PWD/.venv/bin:$PATH"; gunicorn app:app --bind 0.0.0.0:$PORT',
      because: ['requirements.txt', 'app.py app', 'Procfile web'],
    },
  ],
  [
    'Procfile alone',
    { Procfile: 'web: ./serve.sh --port 7000' },
    { language: 'none', start: './serve.sh --port 7000', port: 7000 },
  ],
  ['Procfile without a web process', { Procfile: 'worker: ./work', 'index.html': '' }, { language: 'static' }],
  [
    '.env.example',
    { ...pkg({ scripts: { start: 'node a.js' } }), '.env.example': '# x\nDB=1\nPORT=4500\n' },
    { port: 4500 },
  ],
  [
    'EXPOSE of a Dockerfile',
    { ...pkg({ scripts: { start: 'node a.js' } }), Dockerfile: 'FROM node\nENV PORT=5055\nEXPOSE $PORT\n' },
    { port: 5055, language: 'node' },
  ],
  [
    'one directory below has a sign',
    { 'README.md': '', 'backend/requirements.txt': 'flask', 'backend/app.py': flask, 'docs/package.json': '{}' },
    { workdir: 'backend', language: 'python' },
  ],
]

test.each(rows)('%s', async (_, files, expected) => {
  const plan = await planOf(files)
  for (const [key, value] of Object.entries(expected))
    expect({ [key]: plan[key as keyof typeof plan] }).toEqual({ [key]: value })
})

test('PORT is set for what is started, and for nothing else', async () => {
  expect(rows.length).toBeGreaterThanOrEqual(60)
  for (const [name, files] of rows) {
    const { start, env, port } = await planOf(files)
    expect([name, env['PORT']]).toEqual([name, start === null ? undefined : String(port ?? 8080)])
  }
})

test('npm does not try again where there is no network', async () => {
  const { env } = await planOf(pkg({ scripts: { start: 'node a.js' } }))
  expect(env['npm_config_fetch_retries']).toBe('0')
})
