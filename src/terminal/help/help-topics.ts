/** The topics of `resolve help`. What is listed elsewhere (exit codes, environment) is taken from there; tests hold the rest. */
import { EXIT_MEANING } from '../output/exit-codes.ts'
import { pad } from '../output/width.ts'

export interface Topic {
  summary: string
  text: () => string
}

/** Every variable of the environment that is read, in the words of docs/cli.md; a test holds this against code and page. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  RESOLVE_HOME: 'where everything is kept; else XDG_DATA_HOME/resolve, else ~/.local/share/resolve',
  RESOLVE_URL: 'the server that commands talk to, as --server; else this machine',
  RESOLVE_TOKEN: 'the token that is sent to the server; "resolve token create" makes one',
  RESOLVE_LOG: 'what serve logs: error, warn, info (default), debug or silent',
  RESOLVE_SCREEN_READER: 'set to 1: plain lines in place of the live view, and nothing that ticks',
  RESOLVE_INSTANCE_LIFETIME: 'how long an instance may be up: 90s, 10m, 2d; 12h by default',
  RESOLVE_LLM_PROVIDER_API_KEY: 'given to resolvers in their config as the key of an LLM provider',
  RESOLVE_GIT_HOST_TOKEN: 'given to resolvers in their config as the token of a git host',
  RESOLVE_GIT_PROVIDER: 'given to resolvers in their config: the kind of git host',
  RESOLVE_GIT_BASE_URL: 'given to resolvers in their config: the address of the git host',
  CI: 'nothing is asked, nothing animated; SIGINT and SIGTERM stop the instance',
  NO_COLOR: 'no colour; --color wins over it',
  FORCE_COLOR: 'colour even in a pipe',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'where serve sends traces, with the other OTEL_ variables; else none',
  DOCKER_HOST: 'the socket of the Docker engine: unix:///path',
  RESOLVE_WORKER_IMAGE: 'the image of containers whose manifest names none',
  RESOLVE_VOLUME_ALLOW: 'what containers may mount: /data:/cache=rw',
  RESOLVE_SANDBOX_IMAGES: "images that a resolver's sandboxes may use beside its own",
  RESOLVE_DEV_SOURCES: 'the directory of what stands in /opt for dev_source_overrides',
  XDG_RUNTIME_DIR: 'hosts listen in its folder resolve; else in one of the temp directory',
}

const twoColumns = (rows: readonly (readonly [string, string])[]) => {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${pad(left, width)}${right}`)
}

export const TOPICS: Readonly<Record<string, Topic>> = {
  'exit-codes': {
    summary: 'how a command ends',
    text: () => `Every command ends with one of these, whatever flags it was given.

${twoColumns(Object.entries(EXIT_MEANING).map(([code, when]) => [code.padStart(3), when] as const)).join('\n')}

With --json and --jsonl the document of an instance, or of an error, carries the same number in exit_code.`,
  },
  environment: {
    summary: 'the variables that are read',
    text: () => `${twoColumns(Object.entries(ENVIRONMENT)).join('\n')}

A resolver sees none of these, only HOME, PATH, LANG, TZ, TMPDIR and RESOLVE_DIR; credentials are in .resolve/config.json.`,
  },
  json: {
    summary: 'what a program reads',
    text: () => `--json prints exactly one document on stdout, a result or an error; stderr carries one line of prose.
  {"schema": "resolve.instance/1", "instance_id": …, "status": …, "exit_code": …, "output": …, "next": […]}
  {"schema": "resolve.error/1", "exit_code": …, "error": {"code": …, "message": …, "hint": …, "fields": […]}, "next": […]}

--jsonl prints every event as it stands in the journal, one a line, then one closing line whose type is done, left or error.

Fields are only ever added. "next" holds commands to run next, each a line for a POSIX shell. Both flags imply --no-input.`,
  },
  input: {
    summary: 'giving a form its fields',
    text: () => `  -i field=value      a field; again for each. Given twice, the last wins
  -i field=@file      what the file holds, without its last newline
  -i field=@@x        the text "@x"
  --input-file F      a JSON object with fields; "-" is stdin; -i wins over it

A checkbox takes true, false, yes, no, on, off, 1, 0. "resolve resolver schema NAME" shows the fields, --example a whole command.
On a terminal what is missing is asked for; --no-input forbids that.`,
  },
  ci: {
    summary: 'running where nobody can be asked',
    text: () => `  resolve run tour --input-file input.json --answers answers.json --timeout 20m --json > result.json

Nothing is asked. A question is met by --answers {"request id or glob": {"field": value}}; without one the instance is left
waiting with exit code 8, and "next" holds the command that answers it. --on-input says otherwise: wait or cancel.
Where CI is set, SIGINT and SIGTERM stop the instance, and the final document is out within 7 s.
After --timeout (exit code 124) the instance goes on; "resolve instance wait ID" waits for it.`,
  },
  server: {
    summary: 'working with a server',
    text: () => `  resolve serve                          there: prints its address
  resolve token create --name ada        there: prints a token, once
  export RESOLVE_TOKEN=rslv_…            here
  resolve run hello --server http://127.0.0.1:10120

--server URL, or RESOLVE_URL where the flag is not given, makes a command talk to that server in place of this machine.
The token comes from RESOLVE_TOKEN alone. Output, documents and exit codes are the same as on this machine.
Commands that are printed to be run next carry --server where it was given.

The server hosts what is run there: leaving, also by a lost connection, leaves it running. A connection that is lost while
something is followed is tried again for a minute; then the command ends with exit code 10.
serve, doctor, token, worker, completion and resolver add, update and remove work on the machine they are given on.`,
  },
  forms: {
    summary: 'how questions are asked and checked',
    text: () => `A form has fields: text, textarea, select, checkbox. Each may have checks; what fails blocks the form, and every failing message
is told at once, in the order of the fields. Exit code 5 says that a form is not valid.

A form may depend on what is filled in so far: give the values with -i to "resolve resolver schema NAME" to see its next fields.
"resolve inbox" lists the open questions of every instance with the commands that answer them. The first valid answer wins.`,
  },
}

export function helpTopic(name: string): string {
  return `${TOPICS[name]?.text() ?? ''}\n`
}
