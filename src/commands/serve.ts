/** `resolve serve`: serves the HTTP API and the web page of this home, and adopts instances that have no host. */
import * as Flags from '@oclif/core/flags'
import { BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { parseDuration } from '../terminal/command/duration.ts'
import { untilShutdown } from '../terminal/command/until-shutdown.ts'
import { openInBrowser } from '../terminal/input/open-browser.ts'
import { usage } from '../terminal/output/command-error.ts'
import { builtinsDirectory, pageDirectory, surroundings } from '../terminal/output/surroundings.ts'

const DEFAULT_PORT = 10_120
const KEEP_MIN_MS = 1_000

export default class Serve extends BaseCommand<typeof Serve> {
  static override summary = 'Serve the HTTP API and the web page, and adopt instances without a host'
  static override description =
    `Prints its address and a sign-in link for a browser. The link works once, for 15 minutes.
  Then it prints one line for each request.
  Adopts instances whose host is gone, at the start and while it runs.
  Ctrl-C or SIGTERM ends the server, not the instances: their workers keep running.
  The next serve, or the next command that needs an instance, adopts them.
  With --max-running an instance beyond the bound waits in "created" with its place; the oldest starts next.
  Instances that wait for an answer count: they have a worker.
See "resolve token --help" for tokens, "resolve help server" for commands that talk to it.`
  static override examples = [
    'resolve serve',
    'resolve serve --port 0 --json',
    'resolve serve --max-running 4 --keep 30d',
    'resolve serve --host 0.0.0.0 --allowed-host build.example.com',
  ]
  static override place = 'always here' as const
  static override flags = {
    host: Flags.string({ default: '127.0.0.1', helpValue: 'ADDRESS', description: 'the address to listen on' }),
    port: Flags.string({
      default: String(DEFAULT_PORT),
      helpValue: 'N',
      description: 'the port; 0 for any free port',
    }),
    open: Flags.boolean({ description: 'open the sign-in link in a browser' }),
    'no-ui': Flags.boolean({ description: 'serve only the API, without the web page' }),
    'resume-lost': Flags.boolean({
      description: 'resume instances whose worker was lost (killed, machine restarted), three times at most',
    }),
    'max-running': Flags.string({
      helpValue: 'N',
      description:
        'how many instances run at the same time; others wait (default: RESOLVE_MAX_RUNNING, else any number)',
    }),
    keep: Flags.string({
      helpValue: 'DUR',
      description: 'remove instances that ended longer ago, such as 30d (default: RESOLVE_KEEP, else never)',
    }),
    uploads: Flags.boolean({
      description: 'let admin tokens add resolvers from an archive, to run in containers (default: RESOLVE_UPLOADS=1)',
    }),
    'allowed-host': Flags.string({
      multiple: true,
      helpValue: 'NAME',
      description: 'also answer requests for this host name; may be repeated',
    }),
  }

  declare protected flags: FlagsOf<typeof Serve>

  protected async act(): Promise<number> {
    const { flags, output } = this
    const port = portOf(flags.port)
    const keepMs = keepOf(flags.keep ?? process.env['RESOLVE_KEEP'])
    const [{ budgetFrom, homeDirectory, maxRunningFrom }, { startServing }, { levelFrom }] = await Promise.all([
      import('../core/index.ts'),
      import('../server/serve.ts'),
      import('../server/observe/log.ts'),
    ])
    const level = levelFrom(process.env)
    if (level === undefined) throw usage('RESOLVE_LOG must be one of error, warn, info, debug, silent.')
    const maxRunning = maxRunningFrom(process.env, flags['max-running'])
    budgetFrom({}, process.env)
    const page = flags['no-ui'] ? undefined : pageDirectory()
    return await untilShutdown(output, async () => {
      const { version } = surroundings()
      const serving = await startServing({
        home: homeDirectory(process.env),
        builtins: builtinsDirectory(),
        ...{ host: flags.host, port, version, maxRunning, keepMs },
        resumeLost: flags['resume-lost'],
        uploads: flags.uploads || process.env['RESOLVE_UPLOADS'] === '1',
        ...(page === undefined ? {} : { page }),
        allowedHosts: flags['allowed-host'] ?? [],
        log: {
          level: flags.quiet && level === 'info' ? 'warn' : level,
          human: process.stderr.isTTY === true && output.forPerson,
          color: output.colorOn(process.stderr),
        },
      })
      const link = serving.signInLink()
      if (output.json) {
        await output.raw(`${JSON.stringify({ schema: 'resolve.serve/1', url: serving.url, sign_in: link })}\n`)
      } else {
        await output.result(serving.url)
        output.say(`Sign in (the link works once, for 15 minutes): ${link}`)
      }
      if (flags.open) await openInBrowser(link, (sentence) => output.note(sentence))
      return serving
    })
  }
}

/** Undefined for ever. Throws `usage`. */
function keepOf(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const keepMs = parseDuration(text)
  if (keepMs >= KEEP_MIN_MS) return keepMs
  throw usage('--keep (or RESOLVE_KEEP) must be at least 1s.')
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw usage('--port must be a number from 0 to 65535.')
}
