/** Requirements of the specification for authors: the plugin contract, the SDK, the JSON-RPC methods, the events. */
import { section, waits } from './requirement.ts'

const plugin = section('Resolver plugin contract', 'PLUG', {
  '01': 'name, version, description and supports_resume are properties of the resolver',
  '02': 'instantiation_schema(params or None) gives the form for a new instance',
  '03': 'workspace_spec(params, available_credentials) gives repos, git_server and working_branch',
  '04': 'The repositories that workspace_spec asks for are cloned and provided',
  '04-SERVER': 'The git server that workspace_spec asks for is provided',
  '05': 'container_setup(params) gives setup_commands, bundles, environment and volume_mounts',
  '06': 'What container_setup asks for is done in the container',
  '07': 'message_types(instance_state) gives the current message types',
  '08': 'run(config, session_factory, emitter, resume) executes and returns a ResolverResult',
  '09': 'on_input_response gets a payload that is already validated',
  '10': 'on_message gets a type that is declared for the current state',
  '11': 'stop(reason) checkpoints and returns promptly',
  '12': 'run() emits resolver:completed on every exit path',
  '13': 'On an exception run() emits resolver:completed with outcome failed and returns failed',
})

const sdk = section('Resolver SDK operations', 'SDK', {
  '01': 'serve() makes stdout the JSON-RPC channel; print goes to stderr',
  '02': 'serve() dispatches calls and blocks until shutdown',
  '03': 'emit(event_type, data) appends to events.jsonl at once',
  '04': 'update_state overwrites state.json entirely: keys not given are lost',
  '05': 'merge_state overlays keys and writes back',
  '06': 'request_input returns a future of the payload and moves the instance to awaiting_input',
  '07': 'A request_id must be unique within the instance',
  '08': waits.realityCheck('The SDK starts, follows and awaits reality checks'),
  '09': 'session_factory creates independent LLM sessions; a response has an output',
})

const rpc = section('JSON-RPC methods', 'RPC', {
  '01': 'resolver.initialize {config} answers {status: ready} within 30 s',
  '02': 'resolver.run {resume} answers {status: started} and has no limit',
  '03': 'resolver.stop {reason} answers {acknowledged: true} within 30 s',
  '04': 'resolver.inputResponse {request_id, payload} within 5 s',
  '05': 'resolver.message {message_type, payload} within 5 s',
  '06': 'resolver.getInstantiationSchema {params} within 10 s',
  '07': 'resolver.getWorkspaceSpec {params} within 10 s',
  '08': 'resolver.getMessageTypes {instance_state} within 5 s',
  '09': 'Notifications of the resolver have no id',
})

const events = section('Events', 'EVT', {
  '01': 'Events are an append-only JSONL log per instance',
  '02': 'Tier 1 is platform., tier 2 resolver:, tier 3 {resolver_name}.',
  '03': 'platform.worker.ready is written by the host',
  '04': 'platform.input.requested follows when the monitor finds a new request file',
  '05': 'resolver:created carries resolver_name, resolver_version, instance_id, params, capabilities_granted',
  '06': 'resolver:phase carries name',
  '07': 'resolver:progress carries milestone and fraction from 0 to 1',
  '08': 'resolver:artifact carries kind, value and optional metadata',
  '09': 'resolver:completed carries outcome, summary, duration_s, artifact_count and optional error',
  '10': '{resolver_name}.data_changed carries the paths that changed',
  '11': 'A consumer fetches data files on data_changed: data is neither pushed nor polled',
  '12': 'The monitor reads new lines of events.jsonl and passes them on',
  '13': 'Readers take event_type and fall back to type',
  '14': 'Events are delivered as SSE lines',
})

export const contractRequirements = [...plugin, ...sdk, ...rpc, ...events]
