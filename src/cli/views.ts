import type { Aggregate, LedgerEvent, Run } from '../ledger/types.js'
import { fromJson, iso, runView } from '../platform/run-view.js'
import { parseSchedule } from '../schedule/index.js'
import type { ScheduleSpec } from '../schedule/types.js'
import type { NodeRow } from '../store/port.js'

/**
 * What the command line shows, as JSON: instants are ISO texts in UTC by the store's clock, durations are milliseconds,
 * JSON that the ledger keeps as text is given as what it says. docs/cli.md lists the fields.
 */

export function jobView({ header, tally, definition, runs }: Aggregate) {
  const { job, service, name, pause, retired, waiting } = header
  return {
    job,
    service,
    name,
    schedule: definition.schedule,
    next: iso(nextOf(definition.schedule, header)),
    paused: pause && { since: iso(pause.since), until: iso(pause.until), by: pause.by, why: pause.why },
    retired,
    failures: tally.failures,
    running: runs.filter((run) => run.state === 'running').length,
    waiting: waiting.schedule + waiting.manual + waiting.backlog,
  }
}

export type JobView = ReturnType<typeof jobView>

/** Null: none comes, or none is looked for while it is paused. */
function nextOf(spec: ScheduleSpec | null, header: Aggregate['header']): number | null {
  if (spec === null || header.pause !== null || header.retired) return null
  return parseSchedule(spec, { anchor: header.anchor }).next(header.cursor)?.instant ?? null
}

/** A run with what else the ledger knows of it. */
export function wholeRunView(run: Run) {
  const { token, resource, definition, session, attemptId, retries, recoveries, repeats } = run
  const attempts = run.attempts.map((attempt) => ({
    ...attempt,
    startedAt: iso(attempt.startedAt),
    endedAt: iso(attempt.endedAt),
  }))
  const rest = { token, resource, definition, session, attemptId, retries, recoveries, repeats, attempts }
  return { ...runView(run), since: iso(run.since), ...rest }
}

export function eventView({ id, at, job, kind, by, why, data }: LedgerEvent) {
  return { at: iso(at), job, kind, by, why, data: fromJson(data), id }
}

export function nodeView({ session, node, hello, room, startedAt, seenAt, leaseEnd, endedAt }: NodeRow, now: number) {
  const { label, services, attends, zoneData, release, manifest } = hello
  return {
    label,
    services,
    attends,
    room,
    state: nodeState({ endedAt, seenAt }, now),
    jobs: Object.keys(manifest).length,
    release,
    zoneData,
    startedAt: iso(startedAt),
    seenAt: iso(seenAt),
    leaseEnd: iso(leaseEnd),
    endedAt: iso(endedAt),
    node,
    session,
  }
}

/** A node counts as live so long after it was last seen. */
const LIVE_MS = 25_000

export function nodeState({ endedAt, seenAt }: Pick<NodeRow, 'endedAt' | 'seenAt'>, now: number) {
  if (endedAt !== null) return 'ended' as const
  return now - seenAt <= LIVE_MS ? ('live' as const) : ('silent' as const)
}

export function scheduleText(spec: ScheduleSpec | null): string {
  if (spec === null) return 'on request'
  if ('every' in spec) return `every ${spec.every / 1_000} s`
  return 'cron' in spec ? `${spec.cron}  ${spec.timeZone}` : `at ${spec.at}  ${spec.timeZone}`
}

/** To the second, as tables show it. */
export function short(text: string | null): string {
  return text === null ? '' : text.replace(/\.\d+Z$/, 'Z')
}

/** `1 job`, `2 jobs`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
