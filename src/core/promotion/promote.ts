/**
 * Promotes a branch of an instance: checks, looks, pushes with an explicit lease, opens one pull request. Hosts call it for a worker or a
 * consumer, and {@link finishPromotions} after they adopted an instance. Each step may be repeated.
 */
import { fail, type ResolveError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { withLock } from '../files/lock.ts'
import type { ForgeRepo } from '../forge/forge.ts'
import { ForgeHttp } from '../forge/forge-http.ts'
import { type CredentialSource, credentialsFor } from '../forge/forge-token.ts'
import { gitSettings } from '../forge/git-settings.ts'
import { openPull } from '../forge/open-pull.ts'
import { findForge } from '../forge/which-forge.ts'
import { BareGit } from '../git/bare-git.ts'
import { gitHosts } from '../git/git-hosts.ts'
import { HEADS, UPSTREAM } from '../git/host-layout.ts'
import { PROMOTION_GIT_LIMIT_MS } from '../limits.ts'
import { type Examination, examine } from './examine.ts'
import { withoutSecrets } from './find-secrets.ts'
import { fewPaths } from './paths-told.ts'
import {
  checkAddress,
  checkBranch,
  checkRequest,
  type PromotionOrigin,
  type PromotionRequest,
  type Wanted,
} from './promotion-rules.ts'
import { type KeptPromotion, keepPromotion, pushedTo, readPromotions } from './promotions-file.ts'
import { rebased } from './rebase.ts'
import { UpstreamGit } from './upstream-git.ts'

export interface PromotionPlace extends PromotionOrigin {
  /** The bare repository that the host keeps: `refs/heads/<branch>` is what was pushed to the git server. */
  path: string
  /** `promotions.json` of the instance. */
  file: string
  /** The address that the workspace was cloned from. */
  url: string
}

export interface PromotionTools {
  env?: NodeJS.ProcessEnv
  /** For a person at a terminal: `git credential` may give the token. */
  atTerminal?: boolean
  /** Whether bytes hold a known secret of the instance. */
  holdsSecret?: (bytes: Buffer) => boolean
  signal?: AbortSignal
  /** Called once the request is allowed, before anything is looked at. */
  onBegin?: () => Promise<void>
  /** For tests: waits of the client. */
  http?: { waitLimitMs?: number; retryMs?: readonly number[] }
}

export interface Promotion {
  pr_url: string
  number: number
  branch: string
  target_branch: string
  commit: string
  /** Whether the pull request is new. */
  created: boolean
  found: Examination
}

/** What a promotion would do, for a consumer who decides: nothing is pushed, and secrets or workflow files do not refuse. */
export async function previewPromotion(
  place: PromotionPlace,
  request: PromotionRequest,
  tools: PromotionTools = {},
): Promise<Examination & { branch: string; target: string }> {
  const wanted = checkRequest(request, place)
  return await withUpstream(place, tools, async (upstream) => {
    const { target, found } = await look(place, wanted, upstream, tools, request.rebase)
    return { ...found, branch: wanted.branch, target }
  })
}

/** Throws an error of the catalogue (docs/errors.md: `promotion_…`, `nothing_to_promote`, `forge_…`). */
export async function promote(
  place: PromotionPlace,
  request: PromotionRequest,
  tools: PromotionTools = {},
): Promise<Promotion> {
  const wanted = checkRequest(request, place)
  await tools.onBegin?.()
  return await withLock(`${place.file}.lock`, () =>
    withUpstream(place, tools, async (upstream) => {
      const { target, found, source } = await look(place, wanted, upstream, tools, request.rebase)
      checkSeen(wanted.branch, request.seen, [found.commit, source])
      checkFound(wanted.branch, found, request, tools)
      const kept = await intend(place, request, wanted, target, { commit: found.commit, source })
      const { url, number, created } = await finish(place, kept, upstream, tools).catch((error: unknown) =>
        giveUp(place, kept, tools, error),
      )
      const { branch } = wanted
      return { pr_url: url, number, branch, target_branch: target, commit: found.commit, created, found }
    }),
  )
}

/** Carries on what a host that is gone began: the same commits, which were looked at then. Returns how each ended. */
export async function finishPromotions(
  place: PromotionPlace,
  tools: PromotionTools = {},
): Promise<{ kept: KeptPromotion; error?: ResolveError }[]> {
  const isOpen = ({ repo, stage }: KeptPromotion) => repo === place.repo && (stage === 'pushing' || stage === 'opening')
  if (!readPromotions(place.file).some(isOpen)) return []
  return await withLock(`${place.file}.lock`, () =>
    withUpstream(place, tools, async (upstream) => {
      const ends: { kept: KeptPromotion; error?: ResolveError }[] = []
      for (const kept of readPromotions(place.file).filter(isOpen)) {
        try {
          await finish(place, kept, upstream, tools)
          ends.push({ kept: readPromotions(place.file).find((one) => one.branch === kept.branch) ?? kept })
        } catch (error) {
          await giveUp(place, kept, tools, error).catch(() => {})
          tools.signal?.throwIfAborted()
          ends.push({ kept, error: error as ResolveError })
        }
      }
      return ends
    }),
  )
}

interface Upstream {
  repo: ForgeRepo
  git: BareGit
  remote: UpstreamGit
  http: ForgeHttp
  credentials: CredentialSource
}

async function withUpstream<T>(
  { path, url }: PromotionPlace,
  { env = process.env, atTerminal = false, signal, http: waits }: PromotionTools,
  work: (upstream: Upstream) => Promise<T>,
): Promise<T> {
  const settings = gitSettings(env)
  const hosts = gitHosts(env)
  checkAddress(url, hosts)
  const http = new ForgeHttp(waits)
  try {
    const repo = await findForge(url, settings, http, signal)
    const credentials = credentialsFor(repo, { settings, atTerminal, signal })
    const git = new BareGit({ path, deadline: Date.now() + PROMOTION_GIT_LIMIT_MS, signal })
    const remote = await UpstreamGit.open(git, repo, hosts, await credentials.read())
    try {
      return await work({ repo, git, remote, http, credentials })
    } finally {
      await remote.close()
    }
  } finally {
    await http.close()
  }
}

async function look(
  { path }: PromotionPlace,
  wanted: Wanted,
  { git, remote, repo }: Upstream,
  { holdsSecret }: PromotionTools,
  isRebased: boolean,
): Promise<{ target: string; found: Examination; source: string }> {
  const { branch, target: asked } = wanted
  const source = await git.commitOf(`${HEADS}${branch}`)
  if (source === undefined) throw fail('promotion_branch_refused', { branch, reason: 'the instance has not pushed it' })
  const { defaultBranch, tips } = await remote.look(asked === null ? [] : [asked])
  const target = asked ?? defaultBranch
  if (target === null || (asked !== null && !tips.has(asked))) {
    throw fail('promotion_target_missing', { target: target ?? 'HEAD', repo: repo.shown })
  }
  checkBranch(branch, target, defaultBranch)
  await remote.fetch(target)
  const targetCommit = await git.commitOf(`${UPSTREAM}${target}`)
  if (targetCommit === undefined) throw fail('git_failed', { url: path, reason: 'the target is not there.' })
  const names = { branch, target }
  // What the branch has itself is looked at first: a branch without common history or without commits is told as such.
  const examined = await examine(git, names, { commit: source, targetCommit }, { holdsSecret })
  const found = { ...examined, secrets: [...secretTexts(wanted, holdsSecret), ...examined.secrets] }
  if (!isRebased || found.behind === 0 || found.secrets.length > 0) return { target, found, source }
  const commit = await rebased(git, names, { commit: source, targetCommit })
  if (commit === targetCommit) throw fail('nothing_to_promote', names)
  return { target, found: await examine(git, names, { commit, targetCommit }, { holdsSecret }), source }
}

/** The worker chooses these texts too, and they are published with the commits. */
function secretTexts({ branch, title, body }: Wanted, holdsSecret: PromotionTools['holdsSecret']): string[] {
  const texts = { 'branch name': branch, 'title of the pull request': title, 'text of the pull request': body }
  return Object.entries(texts).flatMap(([what, text]) => (holdsSecret?.(Buffer.from(text)) ? [what] : []))
}

/** A person allows what was looked at, and nothing that came later. */
function checkSeen(branch: string, seen: string | null, commits: readonly string[]): void {
  const [commit = ''] = commits
  if (seen !== null && !commits.includes(seen)) throw fail('promotion_commit_changed', { branch, seen, commit })
}

/** Behind the target and in conflict with it is told, not refused. */
function checkFound(
  branch: string,
  { secrets, sensitive, commit }: Examination,
  request: PromotionRequest,
  { holdsSecret = () => false }: PromotionTools,
): void {
  if (secrets.length > 0) {
    throw fail('promotion_secret_found', { branch: withoutSecrets(branch, holdsSecret), paths: fewPaths(secrets) })
  }
  if (sensitive.length > 0 && (request.by === 'worker' || !request.allowWorkflows)) {
    throw fail('promotion_needs_approval', { branch, paths: fewPaths(sensitive), commit })
  }
}

/** Keeps what is about to happen: from here on a host that adopts the instance carries it on. */
async function intend(
  { file, repo }: PromotionPlace,
  { by, draft, update }: PromotionRequest,
  { branch, title, body }: Wanted,
  target: string,
  { commit, source }: { commit: string; source: string },
): Promise<KeptPromotion> {
  const promotions = readPromotions(file)
  const before = promotions.find((one) => one.repo === repo && one.branch === branch && one.target === target)
  const pushed = [...new Set(pushedTo(promotions, repo, branch))].filter((one) => one !== commit)
  const kept: KeptPromotion = {
    ...{ repo, branch, target, commit, source, by, title, body, draft, update },
    pushed: [...pushed.slice(1 - PUSHED_KEPT), commit],
    stage: 'pushing',
    url: before?.url ?? null,
    number: before?.number ?? null,
    created: before?.created ?? false,
    at: new Date().toISOString(),
  }
  await keepPromotion(file, kept)
  failpoint('promotion.intended')
  return kept
}

const PUSHED_KEPT = 50

/** Its caller gets the error, so no later host repeats it. One that was aborted, or killed, is carried on. */
async function giveUp(
  { file }: PromotionPlace,
  kept: KeptPromotion,
  { signal }: PromotionTools,
  error: unknown,
): Promise<never> {
  if (signal?.aborted !== true) await keepPromotion(file, { ...kept, stage: 'failed' }).catch(() => {})
  throw error
}

/** Push and pull request; both may have happened already. */
async function finish(
  { file }: PromotionPlace,
  kept: KeptPromotion,
  upstream: Upstream,
  { signal }: PromotionTools,
): Promise<{ url: string; number: number; created: boolean }> {
  if (kept.stage === 'pushing') {
    await push(kept, upstream)
    failpoint('promotion.pushed')
    await keepPromotion(file, { ...kept, stage: 'opening' })
    failpoint('promotion.opening')
  }
  const { repo, http, credentials } = upstream
  const { branch: head, target, title, body, draft: isDraft, update } = kept
  const onStep = (step: 'asked' | 'created') => failpoint(`promotion.${step}`)
  const opened = await openPull(
    http,
    { repo, credentials, signal },
    { head, target, title, body, isDraft },
    { update, onStep },
  )
  const { url, number } = opened.pull
  await keepPromotion(file, { ...kept, stage: 'open', url, number, created: kept.created || opened.created })
  failpoint('promotion.kept')
  return { url, number, created: opened.created }
}

async function push({ branch, commit, pushed }: KeptPromotion, { repo, remote, git }: Upstream): Promise<void> {
  const { tips } = await remote.look([branch])
  const there = tips.get(branch) ?? null
  if (there === commit) return
  const mayReplace =
    there === null || pushed.includes(there) || (pushed.length > 1 && (await contains(git, commit, there)))
  if (!mayReplace) throw fail('promotion_branch_moved', { branch, repo: repo.shown })
  const end = await remote.push(commit, branch, there)
  if (end.kind === 'moved') throw fail('promotion_branch_moved', { branch, repo: repo.shown })
  if (end.kind === 'refused') throw fail('promotion_push_refused', { repo: repo.shown, words: end.words })
}

/** Whether the work is on top of a commit that a person pushed: nothing is overwritten then. */
async function contains(git: BareGit, commit: string, there: string): Promise<boolean> {
  if ((await git.commitOf(there)) === undefined) return false
  const { code } = await git.run(['merge-base', '--is-ancestor', there, commit], { codes: [1] })
  return code === 0
}
