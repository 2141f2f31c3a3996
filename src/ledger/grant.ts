import type { AttendContext } from './context.js'
import type { Draft } from './draft.js'
import { ATTEMPTS_KEPT } from './limits.js'
import { type Attempt, LANES, type Lane, type Run } from './types.js'
import { startsNow } from './wake.js'

/**
 * Grants what may start, as far as this node has room: first runs that hold a place (retries, hand-backs, recoveries),
 * then waiting ones, lane by lane in turn. Each grant is a new attempt with a greater token.
 */
export function grant(draft: Draft, ctx: AttendContext): void {
  let room = ctx.room
  let count = 0
  const give = (run: Run): void => {
    grantOne(draft, ctx, run, count)
    room -= 1
    count += 1
  }
  for (const run of draft.held()) {
    if (room > 0 && run.state === 'queued' && run.readyAt <= draft.now && !ctx.busy.has(run.key)) give(run)
  }
  while (room > 0 && draft.held().length < draft.definition.concurrency) {
    const run = nextWaiting(draft, ctx)
    if (run === null) break
    draft.header.turn = run.lane
    give(run)
  }
}

/**
 * The first of the next lane that has somebody to send: the lane of the last grant comes last. A handler may still run here
 * under the key of a waiting run where the store was set back.
 */
function nextWaiting(draft: Draft, ctx: AttendContext): Run | null {
  const last = LANES.indexOf(draft.header.turn)
  for (const lane of [...LANES.slice(last + 1), ...LANES.slice(0, last + 1)]) {
    const run = startsNow(draft, lane) ? firstReady(draft, ctx, lane) : undefined
    if (run !== undefined) return run
  }
  return null
}

/** Who awaits a poke lets others pass. */
function firstReady(draft: Draft, ctx: AttendContext, lane: Lane): Run | undefined {
  return draft.waiting(lane).find(({ key, readyAt }) => readyAt <= draft.now && !ctx.busy.has(key))
}

/**
 * token = max(last + 1, the store's now in microseconds, one more than a fence has shown): below 2^53, and growing also
 * after a wiped store or a failover to a lagging replica (promises.md, S3). What handlers see is frozen at the first.
 */
function grantOne(draft: Draft, ctx: AttendContext, run: Run, index: number): void {
  const token = Math.max(draft.header.lastToken + 1, draft.now * 1000, draft.job.tally.tokenFloor + 1)
  draft.header.lastToken = token
  const attempt: Attempt = {
    id: `${ctx.changeId}.${index}`,
    session: ctx.session,
    node: ctx.node,
    token,
    startedAt: draft.now,
    endedAt: null,
    outcome: null,
    note: null,
  }
  const first = run.attempt === 0
  draft.step(run, 'grant', {
    ...run,
    state: 'running',
    place: true,
    attempt: run.attempt + 1,
    attemptId: attempt.id,
    session: ctx.session,
    token,
    since: first ? draft.job.tally.succeededUntil : run.since,
    startedAt: first ? draft.now : run.startedAt,
    attempts: [...run.attempts, attempt].slice(-ATTEMPTS_KEPT),
  })
}
