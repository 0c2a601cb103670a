/** The door of the core for commands, servers and programs that embed the platform: every name listed one by one. */

export { type PackedDirectory, packDirectory } from './archive/pack-directory.ts'
export { planUpload } from './catalog/plan-upload.ts'
export {
  describeError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorKind,
  fail,
  ResolveError,
} from './errors.ts'
export { installedFile } from './files/installation.ts'
export { writePrivateFile } from './files/private-file.ts'
export { tar } from './files/tar.ts'
export { boundedMatcher } from './form-check/matcher.ts'
export { budgetFrom } from './host/launch/budget.ts'
export { startReaper } from './host/process/reaper.ts'
export { maxRunningFrom } from './host/queue/max-running.ts'
export type { HeldFeed, JournalFeed } from './platform/journal/journal-feed.ts'
export { type LiveInstanceReport, LiveInstances } from './platform/local/live-instances.ts'
export { type LocalPlatform, openLocalPlatform, type SocketApi } from './platform/local/local.ts'
export type {
  Addition,
  AddPlan,
  ByteRange,
  Connection,
  CreateRequest,
  DataContent,
  FollowOptions,
  GitWork,
  HealthRow,
  HealthState,
  HostState,
  InstanceFilter,
  InstanceGit,
  InstancePage,
  LogOptions,
  Naming,
  Platform,
  PrepareOptions,
  PromotionAsk,
  PromotionOutcome,
  Pruned,
  PruneOptions,
  PruneOutcome,
  RetryRequest,
} from './platform/platform.ts'
export { openRemotePlatform, type RemoteOptions, verifyToken } from './platform/remote/remote.ts'
export type { WorkerPruneOutcome } from './platform/upkeep/upkeep.ts'
export { buildWorker, checkLocalHealth, pruneRepoCaches, pruneWorkers } from './platform/upkeep/upkeep.ts'
export { NOTIFY_EVENTS, type NotifyOutcome, type NotifyRequest, type NotifyTarget } from './protocol/api/notify.ts'
export type { NewSchedule, Schedule } from './protocol/api/schedule.ts'
export type { SecretContent, SecretInfo } from './protocol/api/secrets.ts'
export type { CatalogEntry } from './protocol/catalog.ts'
export type { ChangedRepo, RepoDiff, RepoHistory } from './protocol/changes.ts'
export type { EventEnvelope } from './protocol/event.ts'
export type { Form, FormCheck, Payload } from './protocol/form.ts'
export type { Actor, DataFile, InputRequest, InstanceRecord, MessageType, SentMessage } from './protocol/instance.ts'
export type { JournalEvent } from './protocol/journal.ts'
export type { Manifest } from './protocol/manifest.ts'
export type { Status } from './protocol/status.ts'
export { runDue, type ScheduleNews, ScheduleRunner } from './schedule/runner.ts'
export { homeDirectory } from './store/home.ts'
export { type Claim, IdempotencyKeys, type KeptAnswer } from './store/idempotency.ts'
export {
  isExpired,
  type NewToken,
  openTokens,
  type TokenEntry,
  type TokenRequest,
  type Tokens,
} from './store/tokens.ts'
export { openTracing, type TracingOptions } from './telemetry/tracing.ts'
export { fitsNarrowing, type Narrowing } from './view/find-words.ts'
export { lostWorker } from './view/lost-worker.ts'
export type { Story } from './view/story.ts'
