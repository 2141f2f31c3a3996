import { FleetcronError } from '../errors.js'
import { type Duration, durationMs, optionInvalid, refuseUnknown } from '../fleet/option-values.js'
import { stderrLine } from '../fleet/system-clock.js'

/** One or two texts of 32 or more visible ASCII characters; a function is asked at every request, so that they can be changed. */
export type Live = readonly (string | undefined)[] | (() => readonly string[])

export interface HttpOptions {
  /** What requests are signed with (`signRequest`): the one in use, and the one that follows it. */
  readonly secrets?: Live
  /** Bearer tokens, for callers that cannot sign. */
  readonly tokens?: Live
  /** Where the routes are. Default `'/fleetcron'`. */
  readonly path?: string
  /** Names of the jobs that may be started; any other is unknown. Default: every job. */
  readonly jobs?: readonly string[]
  /** The longest that `?wait=` may hold an answer back. Default `'60s'`, at most an hour. */
  readonly longestWait?: Duration
  /** Where the door tells what went wrong inside; one line each, never a secret. Default: stderr. */
  readonly log?: (line: string) => void
}

export interface ResolvedHttp {
  readonly secrets: () => readonly string[]
  readonly tokens: () => readonly string[]
  readonly path: string
  readonly jobs: ReadonlySet<string> | null
  readonly longestWaitMs: number
  readonly log: (line: string) => void
}

export const HTTP_DEFAULTS = { path: '/fleetcron', longestWaitMs: 60_000 } as const

const KEYS = ['secrets', 'tokens', 'path', 'jobs', 'longestWait', 'log']
const FOREIGN = {
  secret: 'secrets',
  token: 'tokens',
  bearer: 'tokens',
  prefix: 'path',
  basePath: 'path',
  wait: 'longestWait',
}

const MOST_LIVE = 2
const LEAST_LENGTH = 32

/**
 * The one way from the door's options to what it does. A door without a lock is refused.
 * @throws FleetcronError `OPTION_INVALID`; no message shows a secret
 */
export function resolveHttp(input: HttpOptions): ResolvedHttp {
  refuseUnknown('the HTTP door', input, KEYS, FOREIGN)
  const { secrets, tokens, path = HTTP_DEFAULTS.path, jobs, longestWait, log = stderrLine } = input
  if (secrets === undefined && tokens === undefined) throw unlocked('neither `secrets` nor `tokens` is given')
  if (!/^(\/[\w.~-]+)+$/.test(path)) {
    throw optionInvalid('the HTTP door: path', `'${path}' is not a path such as '/fleetcron'.`)
  }
  if (jobs !== undefined && !Array.isArray(jobs)) {
    throw optionInvalid('the HTTP door: jobs', "it is a list of names, such as ['daily-invoices'].")
  }
  return {
    secrets: live('secrets', secrets),
    tokens: live('tokens', tokens),
    path,
    jobs: jobs === undefined ? null : new Set(jobs),
    longestWaitMs:
      longestWait === undefined
        ? HTTP_DEFAULTS.longestWaitMs
        : durationMs('the HTTP door: longestWait', longestWait, 0, 3_600_000),
    log,
  }
}

function live(what: string, given: Live | undefined): () => readonly string[] {
  if (given === undefined) return () => []
  if (typeof given === 'function') {
    check(what, given())
    // Later too: whoever signs with nothing is not let in because a variable was emptied.
    return () => given().filter(isStrong)
  }
  const texts = check(what, given)
  return () => texts
}

function check(what: string, given: readonly (string | undefined)[]): readonly string[] {
  if (!Array.isArray(given)) throw unlocked(`\`${what}\` is no list`)
  if (given.length === 0) throw unlocked(`\`${what}\` is empty`)
  if (given.length > MOST_LIVE)
    throw unlocked(`\`${what}\` has ${given.length}, and at most ${MOST_LIVE} are live at once`)
  return given.map((text) => {
    if (text === undefined || text === '') {
      throw unlocked(
        `\`${what}\` holds one that is ${text === '' ? 'empty' : 'undefined'}. Is the variable set that it is read from?`,
      )
    }
    if (isStrong(text)) return text
    throw unlocked(`\`${what}\` holds one of fewer than ${LEAST_LENGTH} characters, or with others than visible ASCII`)
  })
}

function isStrong(text: unknown): text is string {
  return typeof text === 'string' && text.length >= LEAST_LENGTH && /^[!-~]+$/.test(text)
}

function unlocked(why: string): FleetcronError {
  const how = 'Pass one that `openssl rand -hex 32` gave, or leave the door away.'
  const message = `The HTTP door would have no lock: ${why}`
  return new FleetcronError('OPTION_INVALID', `${message}${/[.?]$/.test(message) ? '' : '.'} ${how}`)
}
