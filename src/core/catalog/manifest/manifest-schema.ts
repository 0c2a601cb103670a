/**
 * The JSON Schema of manifest.json (spec, Resolver manifest; R4), published whole as templates/manifest.schema.json.
 * {@link file://./parse-manifest.ts} checks with it. Each `description` completes the sentence "<field> must be …".
 */
import { EGRESS_RULES_MAX, MAX_RUNNING_MAX, RESOLVER_NAME_MAX_CHARS } from '../../limits.ts'
import { EGRESS_RULE_PATTERN, NETWORKS } from '../../protocol/egress.ts'
import {
  RESOLVER_NAME_PATTERN,
  SECRET_NAME_PATTERN,
  SECRET_NAMES_TAKEN,
  VERSION_PATTERN,
} from '../../protocol/manifest.ts'

export const RESERVED_NAMES = ['platform', 'resolver'] as const // R4

/** R4: capability names that a manifest may use → the one name used everywhere else. */
export const CAPABILITIES: Readonly<Record<string, string>> = {
  'git-server': 'git-server',
  gitea: 'git-server',
  model: 'model',
}

/** A NUL would cut the text short on its way into a process. */
const TEXT = { type: 'string', maxLength: 4096, pattern: '^[^\\u0000]*$' }
const PART_OF_COMMAND = { ...TEXT, description: 'a text of at most 4096 characters, without NUL' }
const SHELL_LINE = { ...TEXT, minLength: 1, description: 'a shell command of 1 to 4096 characters, without NUL' }
const GIT_ADDRESS = {
  type: 'string',
  maxLength: 2048,
  pattern: '^([Gg][Ii][Tt]\\+)?([Hh][Tt][Tt][Pp][Ss]|[Ss][Ss][Hh])://[^\\s]+$|^[\\w][\\w.-]*@[\\w.-]+:[^\\s]+$',
  description: 'a git address: https://…, git+https://…@ref, ssh://… or git@host:path',
}

const BUNDLE_ADDRESS = {
  type: 'string',
  maxLength: 2048,
  pattern: `${GIT_ADDRESS.pattern}|^\\w[\\w.-]*(/\\w[\\w.-]*)+(@[^\\s#]+)?(#[^\\s]+)?$|^\\./[^\\s]+$`,
  description: 'the address of a bundle: git+https://…@ref#subdirectory=path, owner/repo@ref, git@host:path or ./path',
}

function command(description: string) {
  return {
    type: 'array',
    minItems: 1,
    maxItems: 256,
    prefixItems: [{ ...TEXT, minLength: 1, description: 'the name of a program' }],
    items: PART_OF_COMMAND,
    description,
  }
}

export const MANIFEST_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Resolver manifest',
  type: 'object',
  description: 'a JSON object',
  required: ['name', 'version', 'description', 'command'],
  properties: {
    $schema: { type: 'string', description: 'the address of this schema, for editors' },
    name: {
      type: 'string',
      minLength: 1,
      maxLength: RESOLVER_NAME_MAX_CHARS,
      pattern: RESOLVER_NAME_PATTERN,
      not: { enum: [...RESERVED_NAMES] },
      description: `lower-case words joined by hyphens, at most ${RESOLVER_NAME_MAX_CHARS} characters`,
    },
    version: {
      type: 'string',
      maxLength: 256,
      pattern: VERSION_PATTERN,
      description: 'a version as MAJOR.MINOR.PATCH, such as 1.0.0, 2.1.0-beta.1 or 1.0.0+build.5',
    },
    description: {
      type: 'string',
      minLength: 1,
      maxLength: 500,
      pattern: '^[^\\s\\u0000-\\u001f]([^\\u0000-\\u001f]*[^\\s.\\u0000-\\u001f])?$',
      description: 'one sentence on one line, at most 500 characters, without a period at its end',
    },
    command: command('a non-empty list of texts: a program and its arguments'),
    supports_resume: { type: 'boolean', default: false, description: 'true or false' },
    max_running: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_RUNNING_MAX,
      description: `a whole number from 1 to ${MAX_RUNNING_MAX}: how many of its instances run at the same time`,
    },
    capabilities_required: {
      type: 'array',
      maxItems: 32,
      items: {
        enum: Object.keys(CAPABILITIES),
        description: 'a capability this platform has: "git-server" or "model"',
      },
      description: 'a list of capabilities',
    },
    secrets: {
      type: 'array',
      maxItems: 32,
      uniqueItems: true,
      items: {
        type: 'string',
        pattern: SECRET_NAME_PATTERN,
        not: { enum: [...SECRET_NAMES_TAKEN] },
        description: 'the name of a secret: up to 64 letters, digits and "_", beginning with a letter',
      },
      description: 'a list of names of secrets, each once',
    },
    viewport_bundle: GIT_ADDRESS,
    viewport_path: {
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^(?!/)(?!(.*/)?\\.{1,2}(/|$))(?!.*//)[^\\\\\\u0000-\\u001f]*[^/\\\\\\u0000-\\u001f]$',
      description: 'a path inside the viewport\'s repository, without "..", such as "dist/viewport.js"',
    },
    container: {
      type: 'object',
      properties: {
        image: {
          type: 'string',
          maxLength: 255,
          pattern: '^[A-Za-z0-9][A-Za-z0-9._:/@-]*$',
          description: 'the name of an image, such as "debian:12" or "example.org/team/image@sha256:…"',
        },
        command: command('a non-empty list of texts: a program and its arguments'),
        setup_commands: { type: 'array', maxItems: 256, items: SHELL_LINE, description: 'a list of shell commands' },
        bundles: { type: 'array', maxItems: 64, items: BUNDLE_ADDRESS, description: 'a list of addresses of bundles' },
        volume_mounts: {
          type: 'array',
          maxItems: 64,
          items: { type: ['string', 'object'], description: 'a mount: a text or an object' },
          description: 'a list of mounts',
        },
        dev_source_overrides: {
          type: 'array',
          maxItems: 64,
          items: {
            type: 'string',
            maxLength: 128,
            pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
            description: 'the name of a directory in /opt',
          },
          description: 'a list of names of directories in /opt',
        },
        network: { enum: [...NETWORKS], default: 'open', description: '"open", "none" or "allowlist"' },
        egress: {
          type: 'array',
          maxItems: EGRESS_RULES_MAX,
          items: {
            type: 'string',
            maxLength: 260,
            pattern: EGRESS_RULE_PATTERN,
            description: 'a host in lower case, such as "api.example.org", "*.example.org" or "api.example.org:8443"',
          },
          description: 'a list of hosts',
        },
      },
      // Unknown fields are refused here: "privileged", for example, must not be ignored silently (threats MAN-4).
      additionalProperties: false,
      description: 'a JSON object',
    },
  },
  // Fields of later versions are ignored with a warning; a near miss of a known one is a fault (parse-manifest.ts).
  additionalProperties: true,
} as const
