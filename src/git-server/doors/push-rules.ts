/** Which pushes are refused, and what a push to `refs/for/` asks for. Pure. */
import { GIT_REFS_A_PUSH_MAX, PUSH_OPTIONS_MAX } from '../../core/limits.ts'
import type { RefMove } from '../pulls/refs-moved.ts'
import { isBranchName, isNothing } from '../repository/names.ts'

const FOR = 'refs/for/'
const SERVERS_OWN = /^refs\/(?:pull|upstream)(?:\/|$)/

/** Why a push is refused; undefined where it is not. The host itself also writes `refs/upstream/`. */
export function whyRefused(moves: readonly RefMove[], options: readonly string[], isHost: boolean): string | undefined {
  if (moves.length > GIT_REFS_A_PUSH_MAX) return `A push changes at most ${GIT_REFS_A_PUSH_MAX} refs.`
  if (options.length > PUSH_OPTIONS_MAX) return `A push has at most ${PUSH_OPTIONS_MAX} options.`
  for (const { ref } of moves) {
    if (SERVERS_OWN.test(ref) && !(isHost && ref.startsWith('refs/upstream/')))
      return `${ref} is written by the git server alone.`
    const [, name = ''] = /^refs\/[^/]+\/(.+)$/.exec(ref) ?? []
    if (!isBranchName(name)) return `${JSON.stringify(ref.slice(0, 200))} is not the name of a ref.`
  }
  const asking = moves.filter(({ ref }) => ref.startsWith(FOR))
  if (asking.length > 1) return 'A push asks for one pull request.'
  return asking.some(({ to }) => isNothing(to)) ? 'There is nothing to delete below refs/for/.' : undefined
}

export interface Asked {
  base: string
  topic: string | undefined
  title: string | undefined
  body: string | undefined
  promotes: boolean
  /** For `create-pr`: the answer also as a line of JSON. */
  wantsJson: boolean
  force: boolean
}

/** What a push to `refs/for/<base>` with options asks for, in the form of Gitea's and Forgejo's AGit pushes. */
export function askedBy(ref: string, options: readonly string[]): Asked {
  const of = (name: string) =>
    options.filter((option) => option.startsWith(`${name}=`)).map((option) => option.slice(name.length + 1))
  const body = of('description')
  const isOn = (name: string) => options.includes(name) || of(name).some((value) => /^(?:1|true)$/.test(value))
  return {
    base: ref.slice(FOR.length),
    topic: of('topic').at(-1),
    title: of('title').map(decode).at(-1),
    body: body.length === 0 ? undefined : joinParts(body),
    promotes: isOn('promote'),
    wantsJson: of('answer').includes('json'),
    force: isOn('force-push'),
  }
}

/** A text whose bytes are written in letters and digits, because a push option is one line. */
const ENCODED = /^\{(base64|hex)\}(.*)$/s

function decode(value: string): string {
  return toBytes(value).toString('utf8')
}

function toBytes(value: string): Buffer {
  const [, encoding = 'utf8', text = value] = ENCODED.exec(value) ?? []
  return Buffer.from(text, encoding as BufferEncoding)
}

/** A character may begin in one part and end in the next. */
function joinParts(parts: readonly string[]): string {
  return Buffer.concat(parts.map(toBytes)).toString('utf8')
}
