/** The topics of `resolve help`. Lists (exit codes, environment variables) come from the tables that the code uses. */
import { EXIT_MEANING } from '../output/exit-codes.ts'
import { pad } from '../output/width.ts'

export interface Topic {
  summary: string
  text: () => string
}

/** All environment variables that are read, worded as in docs/cli.md; a test compares this table with the code and the page. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  RESOLVE_HOME: 'the home directory (default: $XDG_DATA_HOME/resolve, else ~/.local/share/resolve)',
  RESOLVE_URL: 'the server that commands use, like --server (default: this machine)',
  RESOLVE_CONTEXT: 'the context that commands use, like --context (default: the one of "resolve context use")',
  RESOLVE_TOKEN: 'the token for the server; "resolve token create" creates one',
  RESOLVE_LOG: 'the log level of serve: error, warn, info (default), debug or silent',
  RESOLVE_SCREEN_READER: '1: print plain lines instead of the live view, without a running clock',
  RESOLVE_MAX_RUNNING: 'how many instances have a worker at the same time; the others wait (default: any number)',
  RESOLVE_KEEP: 'serve removes instances that ended longer ago: 30d (default: never)',
  RESOLVE_UPLOADS: '1: serve lets admin tokens add resolvers from an archive (default: no)',
  RESOLVE_INSTANCE_LIFETIME: 'how long the workers of an instance may run: 90s, 10m, 2d (default: 12h)',
  RESOLVE_LLM_PROVIDER_API_KEY: 'passed to resolvers in their config: the key of an LLM provider',
  RESOLVE_GIT_HOST_TOKEN: 'passed to resolvers in their config: the token of a git host',
  RESOLVE_GIT_TOKEN_COMMAND:
    'a shell command that prints the token of a git host, where RESOLVE_GIT_HOST_TOKEN is not set',
  RESOLVE_LLM_MODEL: 'passed to resolvers in their config: which model to use, such as provider/model',
  RESOLVE_LLM_BASE_URL: 'passed to resolvers in their config: the address of the LLM provider',
  RESOLVE_BUDGET_USD: 'what the LLM sessions of an instance may cost: the default, and the most (default: no limit)',
  RESOLVE_BUDGET_TOKENS:
    'how many tokens the LLM sessions of an instance may use: the default, and the most (default: no limit)',
  RESOLVE_SECRET_KEY_FILE: 'the file with the key of secrets (default: secret.key in the home)',
  RESOLVE_GIT_PROVIDER: 'passed to resolvers in their config: the kind of git host',
  RESOLVE_GIT_BASE_URL: 'passed to resolvers in their config: the address of the git host',
  RESOLVE_GIT_PRIVATE_HOSTS: 'git hosts that may have a private address, with commas between them',
  RESOLVE_GIT_SSH_HOSTS: 'hosts that workspaces may be cloned from over ssh, with the keys of this user',
  RESOLVE_GIT_LOCAL: 'directories whose repositories workspaces may be cloned from',
  RESOLVE_GIT_ALLOW: 'the only repositories that workspaces may have: github.com/org/*,… (default: any)',
  CI: 'ask no questions, draw nothing; SIGINT and SIGTERM stop the instance',
  NO_COLOR: 'no colour; --color takes precedence',
  FORCE_COLOR: 'use colour even in a pipe',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'where hosts and serve send traces; other OTEL_ variables apply (default: no traces)',
  DOCKER_HOST: 'the socket of the Docker engine: unix:///path',
  RESOLVE_WORKER_IMAGE: 'the image for containers whose manifest names none',
  RESOLVE_VALIDATOR_IMAGE: 'the image for the validator of reality checks (default: resolve-validator:latest)',
  RESOLVE_VOLUME_ALLOW: 'host paths that containers may mount: /data:/cache=rw',
  RESOLVE_OPEN_NETWORK:
    'what a worker with network open cannot reach: guarded (this machine and metadata), host (metadata), engine (no rule)',
  RESOLVE_CHECK_MIRRORS: 'hosts that builds of reality checks may reach, also at a private address: host:port,…',
  RESOLVE_SANDBOX_IMAGES: "additional images that a resolver's sandboxes may use",
  RESOLVE_DEV_SOURCES: 'the host directory mounted for dev_source_overrides',
  XDG_RUNTIME_DIR: 'hosts put their sockets into its folder resolve (default: a folder of the temp directory)',
}

/** Those about resolvers and their workers have a page of their own: each page fits a terminal. */
const ABOUT_WORKERS = /LIFETIME|BUDGET|_LLM_|_GIT_|WORKER|VALIDATOR|VOLUME|OPEN_NETWORK|CHECK_|SANDBOX/

const environmentLines = (isAboutWorkers: boolean) =>
  twoColumns(Object.entries(ENVIRONMENT).filter(([name]) => ABOUT_WORKERS.test(name) === isAboutWorkers)).join('\n')

const twoColumns = (rows: readonly (readonly [string, string])[]) => {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${pad(left, width)}${right}`)
}

export const TOPICS: Readonly<Record<string, Topic>> = {
  'exit-codes': {
    summary: 'the exit codes of commands',
    text: () => `Every command ends with one of these codes.

${twoColumns(Object.entries(EXIT_MEANING).map(([code, when]) => [code.padStart(3), when] as const)).join('\n')}

With --json and --jsonl, the printed document has the same number in exit_code.`,
  },
  environment: {
    summary: 'the environment variables',
    text: () => `${environmentLines(false)}

Those about resolvers and their workers: "resolve help workers".`,
  },
  workers: {
    summary: 'the environment variables about resolvers and their workers',
    text: () => `${environmentLines(true)}

Resolvers get only HOME, PATH, LANG, TZ, TMPDIR and RESOLVE_DIR; their credentials are in .resolve/config.json.`,
  },
  json: {
    summary: 'output for programs: --json and --jsonl',
    text: () => `--json prints exactly one document on stdout, a result or an error. stderr gets one line of prose.
  {"schema": "resolve.instance/1", "instance_id": …, "status": …, "exit_code": …, "output": …, "next": […]}
  {"schema": "resolve.error/1", "exit_code": …, "error": {"code": …, "message": …, "hint": …, "fields": […]}, "next": […]}

--jsonl prints every event as one line, exactly as in the journal, then one closing line of type done, left or error.

Later versions only add fields. "next" has the commands to run next, each a line for a POSIX shell. Both flags imply --no-input.`,
  },
  input: {
    summary: 'the fields of a form on the command line',
    text: () => `  -i field=value      one field; repeat it for each. If repeated for one field, the last value is used
  -i field=@file      the content of the file, without its last newline
  -i field=@@x        the text "@x"
  --input-file F      a file with a JSON object; "-" is stdin; -i takes precedence

A checkbox accepts true, false, yes, no, on, off, 1, 0.
"resolve resolver schema NAME" lists the fields; with --example it prints a complete command.
On a terminal, missing fields are asked for; --no-input turns this off.`,
  },
  ci: {
    summary: 'running in CI and scripts',
    text: () => `  resolve run tour --input-file input.json --answers answers.json --timeout 20m --json > result.json

The command asks no questions. --answers gives prepared answers: {"request id or glob": {"field": value}}.
A question without a prepared answer ends the command with exit code 8. The instance keeps waiting, and "next" has the command
that answers it. With --on-input wait or cancel, the command waits for an answer, or cancels the instance.
If CI is set, SIGINT and SIGTERM stop the instance, and the final document is printed within 7 s.
After --timeout (exit code 124) the instance continues; "resolve instance wait ID" waits for it.`,
  },
  server: {
    summary: 'using a server from another machine',
    text: () => `  resolve serve                          on the server: prints its address
  resolve token create --name ada        on the server: prints a token, once
  export RESOLVE_TOKEN=rslv_…            on your machine
  resolve run hello --server http://127.0.0.1:10120

With --server URL, or RESOLVE_URL, a command uses that server instead of this machine. The flag takes precedence.
The token is read only from RESOLVE_TOKEN. Output, documents and exit codes are the same as on this machine.
If --server was given, printed follow-up commands include it.

The server hosts the instances: they continue when you leave or the connection breaks. While a command follows an instance, it
tries to reconnect for one minute; then it ends with exit code 10.
serve, doctor, token, worker, git, completion and resolver add, update and remove always work on the machine where they run.`,
  },
  forms: {
    summary: 'forms, checks and questions',
    text: () => `A form has fields of type text, textarea, select and checkbox. Fields can have checks. A form with a failing check is not accepted:
the command prints all failing messages, in the order of the fields, and ends with exit code 5.

A form can depend on the values given so far: "resolve resolver schema NAME -i field=value" prints the form for these values.
"resolve inbox" lists the open questions of all instances with the commands that answer them. The first valid answer counts.`,
  },
}

export function helpTopic(name: string): string {
  return `${TOPICS[name]?.text() ?? ''}\n`
}
