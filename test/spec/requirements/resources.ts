/** Requirements of the specification's second section: resources and their fields (forms stand in forms.ts). */
import { section, waits } from './requirement.ts'

const instance = section('Instance', 'REC', {
  '01': 'A record carries instance_id, resolver, input and status',
  '02': "The input is validated against the resolver's instantiation schema",
  '03': 'output of the ResolverResult is the result summary and is shown in the record',
})

const snapshot = section('State snapshot', 'SNAP', {
  '01': 'The snapshot is a JSON object with status and phase plus any keys the resolver adds',
  '02': 'It is replaced atomically: no consumer sees a partial write',
})

const envelope = section('Event envelope', 'ENV', {
  '01': 'An envelope carries schema_version 1, event_type, instance_id, data and timestamp',
})

const config = section('InstanceConfig', 'CFG', {
  '01': 'config.json carries instance_id, resolver_name, params, workspace_path, git_provider, credentials, sub_container_token, capabilities',
  '02': 'git_provider holds type, base_url and token; credentials hold llm_provider_api_key and git_host_token',
  '03': 'The SDK gives typed accessors to it',
  '04': 'sub_container_token opens sub-containers',
})

const manifest = section('Resolver manifest', 'MAN', {
  '01': 'The manifest is validated against a JSON Schema when the resolver is registered',
  '02': 'Without a manifest there is no registration',
  '03': 'name is required, lowercase kebab-case and unique',
  '04': "name must equal the resolver's name property",
  '05': 'version is required and semver',
  '06': "version must equal the resolver's version property",
  '07': 'description is required: one sentence without a trailing period',
  '08': 'command is required: an array of strings that launches the resolver',
  '09': 'supports_resume defaults to false',
  '10': 'capabilities_required are passed in config.capabilities',
  '11': 'viewport_bundle is fetched at registration, viewport_path names the file in it',
  '12': 'Without container the resolver runs directly by its command',
  '13': 'container.command overrides command inside the worker',
  '14': 'container.setup_commands run one after another as root before the resolver starts',
  '15': 'container.volume_mounts and dev_source_overrides are honoured',
  '16': 'container.bundles are activated for the LLM sessions',
})

const request = section('Input request', 'REQ', {
  '01': 'A request carries id, prompt, schema and status; its id is unique within the instance',
  '02': 'pending filters the requests that wait',
  '03': 'A response is an object keyed by component id',
})

const message = section('Message type', 'MSG', {
  '01': 'A message type carries name, label, description and schema',
  '02': 'The catalog of messages is computed by the resolver from the state and differs between phases',
})

const result = section('ResolverResult', 'RES', {
  '01': 'A result carries status, output, error and sessions_used (default 0)',
  '02': "The result's status becomes the status of the instance: completed, paused, failed",
  '03': 'A stop may also return cancelled',
})

const realityCheck = section('Reality check', 'RC', {
  '01': waits.realityCheck(
    'start_reality_check takes software_path, acceptance_criteria, environment, dtu_lifecycle, timeout_seconds',
  ),
  '02': waits.realityCheck('reality_check_events yields events with a dotted event_type'),
  '03': waits.realityCheck('wait_for_reality_check gives verdict, failure_mode and a report criterion by criterion'),
  '04': waits.realityCheck('dtu_lifecycle auto destroys the environment on pass and keeps it on fail'),
})

const authoring = section('Instance input (spec) authoring contract', 'SPEC', {
  '01': 'A feature spec has six sections in order',
  '02': 'A feature spec describes verifiable behaviour of one cohesive feature',
})

export const resourceRequirements = [
  ...instance,
  ...snapshot,
  ...envelope,
  ...config,
  ...manifest,
  ...request,
  ...message,
  ...result,
  ...realityCheck,
  ...authoring,
]
