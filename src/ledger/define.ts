import type { Schedule } from '../schedule/types.js'
import type { Context } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { TEXT_LIMITS } from './limits.js'
import { letGo } from './poke.js'
import { cancelStopped } from './stop.js'
import { isBehind } from './taken.js'
import { bucketOf, cleanText } from './text.js'
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
  const { retired, definition } = job.header
  if (definition === input.hash && !retired) return null
  const known = input.known.find((one) => one.hash === input.hash)
  if (known !== undefined && !isNewestCarried(input, known, ctx.now)) return null
  if (known !== undefined && !retired && !isAbandoned(job, input, ctx.now)) return null
  const seq = input.known.reduce((max, one) => Math.max(max, one.seq), job.header.definitionSeq) + 1
  return redefine(job, input, seq, ctx)
}

/** Whether nobody has carried the definition in force for a while, and nobody entered it just now either. */
function isAbandoned(job: Aggregate, input: DefineInput, now: number): boolean {
  const { definition } = job.header
  const enteredAt = input.known.find((one) => one.hash === definition)?.enteredAt
  return [input.carried.get(definition), enteredAt].every((at) => at === undefined || now - at >= ABANDONED_MS)
}

/** Whether no live node carries one that was entered later than mine. */
function isNewestCarried(input: DefineInput, mine: StoredDefinition, now: number): boolean {
  return !input.known.some(({ hash, seq }) => {
    const seen = input.carried.get(hash)
    return seq > mine.seq && seen !== undefined && now - seen < LIVE_MS
  })
}

function entry(input: DefineInput, seq: number, ctx: Context): StoredDefinition {
  const { hash, content } = input
  const release = input.release === null ? null : cleanText(input.release, TEXT_LIMITS.name)
  return { hash, content, seq, enteredAt: ctx.now, release }
}

function redefine(job: Aggregate, input: DefineInput, seq: number, ctx: Context): Change | null {
  const draft = new Draft(job, ctx)
  cancelStopped(draft)
  decideDue(draft)
  // The terms change when nothing is due any more.
  if (isBehind(draft)) return draft.close()
  const why = job.header.retired ? 'defined again after it was retired' : null
  draft.enter(entry(input, seq, ctx))
  if (input.content.pokeGraceMs === undefined) letGo(draft)
  draft.header.name = cleanText(input.name, TEXT_LIMITS.name)
  draft.header.retired = false
  draft.header.lastFate = null
  const after = draft.scheduleInForce()
  // Between fixed-time schedules the labels go on where they were: what the old zone had not come to yet, and the new one
  // has passed, is due. Any other schedule begins now.
  const goesOn = draft.schedule?.kind === 'fixed-time' && after?.kind === 'fixed-time' && !job.header.retired
  if (after !== null && !goesOn) draft.advance(after, after.cursorAt(ctx.now))
  if (after?.kind === 'fixed-time') setLabelBack(draft, after)
  draft.event('redefined', `${ctx.changeId}.defined`, input.by, why, { hash: input.hash, from: job.header.definition })
  return draft.close()
}

/**
 * In a zone further west the clock shows again what the old zone's has shown. Such labels count as decided, since they were run
 * there; but not where the job has never made a row, nor for another single date, whose row would show itself by a clash.
 */
function setLabelBack(draft: Draft, schedule: Schedule): void {
  const { cursor, position } = draft.header
  const wall = singleDate(draft.definition)
  const isAnother = wall !== null && wall !== singleDate(draft.job.definition)
  const { label } = schedule.cursorAt(cursor.instant)
  if ((position === 1 || isAnother) && label < cursor.label) draft.header.cursor = { ...cursor, label }
}

function singleDate({ schedule }: Definition): string | null {
  return schedule !== null && 'at' in schedule ? schedule.at : null
}

/** Registering a job never makes an occurrence of the past due: its cursor begins now. */
function create(input: DefineInput, ctx: Context): Change | null {
  const header: JobHeader = {
    job: input.job,
    service: input.service,
    name: cleanText(input.name, TEXT_LIMITS.name),
    bucket: bucketOf(input.job),
    definition: input.hash,
    definitionSeq: 1,
    anchor: ctx.now,
    cursor: { instant: ctx.now, label: '' },
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
  draft.enter(entry(input, header.definitionSeq, ctx))
  if (draft.schedule !== null) draft.advance(draft.schedule, draft.schedule.cursorAt(ctx.now))
  draft.event('defined', `${ctx.changeId}.defined`, input.by, null, { hash: input.hash })
  return draft.close()
}
