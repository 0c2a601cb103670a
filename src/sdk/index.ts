/** The public entry point of the SDK: `import { resolver, text } from 'resolve-platform/sdk'`. */
export { ResolveError } from '../core/errors.ts'
export type { ArtifactKind, EventEnvelope } from '../core/protocol/event.ts'
export type { Check, Component, DynamicBoolean, Form, Payload } from '../core/protocol/form.ts'
export type { InstanceConfig, MessageType, ResolverResult } from '../core/protocol/instance.ts'
export type {
  AgentOptions,
  FetchOptions,
  McpAddress,
  McpProgram,
  McpServer,
  OwnTool,
  PromptImage,
  RunOptions,
  Session,
  SessionAnswer,
  SessionFactory,
  SessionLimits,
  SessionOptions,
  ToolName,
} from '../sessions/contract/contract.ts'
export type { Context, MessageListener } from './context.ts'
export { type DefinedResolver, type Definition, type MessageDefinition, resolver } from './define.ts'
export {
  and,
  email,
  type FieldCheck,
  length,
  not,
  numeric,
  optional,
  or,
  type Rule,
  regex,
  required,
} from './forms/checks.ts'
export { checkbox, type Field, type Fields, form, select, text, textarea, type ValuesOf } from './forms/fields.ts'
export type { Checkpoint } from './instance/checkpoint.ts'
export type {
  ContainerSetup,
  Emitter,
  ResolverContract,
  WorkspaceSpec,
} from './instance/contract.ts'
export type { DataFiles } from './instance/data-files.ts'
export type { Promoted, PromoteOptions } from './instance/promote.ts'
export type { CheckEvent, RealityCheck, RealityCheckRequest } from './instance/reality-checks.ts'
export type { CommandOptions, CommandResult, Sandbox, SandboxOptions } from './instance/sandbox.ts'
export type { Repository } from './instance/workspace.ts'
export { Resolver } from './resolver.ts'
