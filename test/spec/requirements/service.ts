/** Requirements of the specification's first section: what the service does, and the coordination directory. */
import { section, waits } from './requirement.ts'

const service = section('What the service does', 'SVC', {
  '01': 'An instance is one run of a named resolver against an input',
  '02': 'A resolver runs as a separate process',
  '03': 'A resolver runs inside an isolated worker container',
  '04': 'Resolver and platform talk JSON-RPC 2.0 on stdio, one JSON object per line',
  '05': 'A consumer can create an instance',
  '06': 'A consumer can stream the events of an instance',
  '07': 'A consumer can read the state snapshot of an instance',
  '08': 'A consumer can answer input requests',
  '09': 'A consumer can send unsolicited messages',
  '10': 'A consumer can pause, resume, stop and cancel an instance',
  '11': 'A consumer can fetch data files that the resolver produced',
  '12': 'The host writes config, input responses and messages as files; the resolver writes events, state, input requests and data',
  '13': 'A host monitor mirrors the files to consumers',
  '14': 'A resolver may declare the capability of a local git server sidecar',
  '15': 'A resolver may ship a viewport for the web page',
  '16': waits.realityCheck('A resolver may call a reality check and gets a verdict'),
  '17': 'A pipeline in DOT runs each node as an LLM session and passes outputs between nodes',
  '18': 'A resolver is registered by `resolver add <path-or-git-url>` and shown by `resolver list`',
  '19': 'The catalog is resolvers.json in the data directory, the single source of truth',
  '20': 'The catalog is reloaded live: no restart after adding a resolver',
})

const directory = section('Worker container layout', 'DIR', {
  '01': '.resolve/config.json is written by the host at startup and holds the InstanceConfig',
  '02': '.resolve/events.jsonl is append-only, flushed immediately, and the source of truth for events',
  '03': '.resolve/state.json is replaced atomically on each update',
  '04': '.resolve/status.json is optional and holds status checkpoints of the resolver',
  '05': '.resolve/input-requests/{rid}.json holds schema and prompt',
  '06': '.resolve/input-requests/{rid}.response.json is written by the host with the payload',
  '07': '.resolve/messages/{N}.json are numbered one after another: 001, 002, …',
  '08': '.resolve/data/{path} holds artifacts in any format, read by consumers on demand',
  '09': '/project/workspace/{repo} is cloned before run()',
  '09-CWD': 'Tools begin in the clone where there is one repository, else in the workspace',
  '10': '/usr/local/bin/create-pr is injected at startup and knows every provider',
  '11': 'A resolver can run steps in ephemeral sub-containers',
  '12': 'The sidecar is started before run() when git-server is required, with a mirror of each workspace repo',
  '13': 'create-pr pushes to the sidecar and creates PRs there',
  '14': "The sidecar's REST API is reachable from the worker at a known URL",
  '14-GITEA':
    'A resolver that asks for gitea by this name has GITEA_URL and GITEA_TOKEN in its environment, another one has not',
  '15': 'Mirroring from upstream and promotion of PRs back upstream are done by the platform',
  '15-BEHIND': 'A resume clones nothing and tells a branch that has moved on upstream',
  '15-REBASE':
    'A promotion can make the commits again on top of a target that has moved on; a conflict is told with its files',
  '15-SEEN': 'Workflow files are allowed by a person for the commit that was seen; a later push needs a new approval',
  '15-SNAPSHOT':
    'Each phase, a pause and the end keep a snapshot of each repository; the last one is kept before the end is told, on top of the last push',
  '15-DIFF':
    'A consumer can see and fetch what an instance changed, while it runs and afterwards, also what was never committed',
  '15-TREE':
    'Nothing that a resolver put into its clone runs or is followed when the host reads it; what is left out is named',
  '15-TOKEN':
    'The token of the upstream is in no file, argument, variable, log, journal, export or answer that a worker or reader sees',
})

export const serviceRequirements = [...service, ...directory]
