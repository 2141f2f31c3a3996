import type { Context } from './context.js'
import { Draft, scheduleOf } from './draft.js'
import { decideDue } from './due.js'
import { bucketOf } from './text.js'
import type { Aggregate, Change, Definition, JobHeader, StoredDefinition } from './types.js'

/** A node counts as carrying a definition while it was seen this recently. */
const LIVE_MS = 25_000

/** A current definition that no live node has carried for this long gives way (a finished roll-back). */
const ABANDONED_MS = 60_000

export interface DefineInput {
  readonly job: string
  readonly service: string
  readonly name: string
  readonly hash: string
  readonly content: Definition
  readonly release: string | null
  readonly by: string
  /** Definitions the store knows of this job. */
  readonly known: readonly StoredDefinition[]
  /** Hash -> when a live node was last seen carrying it, by the store's clock; this node's own is now. */
  readonly carried: ReadonlyMap<string, number>
}

/**
 * Which definition holds. One becomes current at first sight, when it is new to the store; or when no live node has
 * carried the current one for 60 s: then the newest that live nodes carry is entered anew. Nothing else changes it, so
 * that neither an old nor a new crash-looping node flips it.
 */
export function define(job: Aggregate | null, input: DefineInput, ctx: Context): Change | null {
  if (job === null) return create(input, ctx)
  const known = input.known.find((one) => one.hash === input.hash)
  if (job.header.definition === input.hash && !job.header.retired) return null
  if (known !== undefined && !job.header.retired && !mayReturn(job, input, known, ctx.now)) return null
  const seq = input.known.reduce((max, one) => Math.max(max, one.seq), job.header.definitionSeq) + 1
  return redefine(job, input, seq, ctx)
}

function mayReturn(job: Aggregate, input: DefineInput, mine: StoredDefinition, now: number): boolean {
  const currentSeen = input.carried.get(job.header.definition)
  if (currentSeen !== undefined && now - currentSeen < ABANDONED_MS) return false
  const entered = input.known.find((one) => one.hash === job.header.definition)?.enteredAt ?? 0
  if (now - entered < ABANDONED_MS) return false
  return !input.known.some((one) => {
    const seen = input.carried.get(one.hash)
    return one.seq > mine.seq && one.hash !== job.header.definition && seen !== undefined && now - seen < LIVE_MS
  })
}

function redefine(job: Aggregate, input: DefineInput, seq: number, ctx: Context): Change | null {
  const draft = new Draft(job, ctx)
  decideDue(draft)
  const before = draft.schedule
  const why = job.header.retired ? 'defined again after it was retired' : null
  draft.enter({ hash: input.hash, content: input.content, seq, enteredAt: ctx.now, release: input.release })
  draft.header.name = input.name
  draft.header.retired = false
  draft.header.lastFate = null
  const schedule = draft.scheduleInForce()
  if (schedule !== null) {
    const start = schedule.cursorAt(ctx.now)
    // Labels of an interval-like schedule are not identities: a fixed-time one that follows starts with its own.
    const fresh =
      before === null || job.header.retired || (before.kind === 'interval-like' && schedule.kind === 'fixed-time')
    if (fresh)
      draft.header.cursor = { instant: Math.max(draft.header.cursor.instant, start.instant), label: start.label }
    else draft.advance(start)
  }
  draft.event('redefined', `${ctx.changeId}.defined`, input.by, why, { hash: input.hash, from: job.header.definition })
  return draft.close()
}

/** Registering a job never makes an occurrence of the past due: its cursor begins now. */
function create(input: DefineInput, ctx: Context): Change | null {
  const schedule = scheduleOf(input.content, ctx.now, ctx)
  const header: JobHeader = {
    job: input.job,
    service: input.service,
    name: input.name,
    bucket: bucketOf(input.job),
    definition: input.hash,
    definitionSeq: 1,
    anchor: ctx.now,
    cursor: schedule?.cursorAt(ctx.now) ?? { instant: ctx.now, label: '' },
    wakeAt: null,
    lastToken: 0,
    waiting: { schedule: 0, manual: 0, backlog: 0 },
    turn: 'schedule',
    position: 1,
    pause: null,
    retired: false,
    lastFate: null,
  }
  const draft = new Draft(
    {
      header,
      tally: { settled: 0, failures: 0, succeededUntil: null, tokenFloor: 0 },
      version: '',
      definition: input.content,
      runs: [],
    },
    ctx,
  )
  draft.enter({ hash: input.hash, content: input.content, seq: 1, enteredAt: ctx.now, release: input.release })
  draft.event('defined', `${ctx.changeId}.defined`, input.by, null, { hash: input.hash })
  return draft.close()
}
