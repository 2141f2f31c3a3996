import type { Attempt, Run, Stop } from '../ledger/types.js'

/**
 * A run as the text of its row, without its `stop`, which has a column of its own, and without what is null, 0, false or
 * empty, as most fields of most runs are: a row of a third is written, read and kept for a third. Fields that a later version
 * has added are kept as they came.
 */
export function runText(run: Run): string {
  return JSON.stringify({
    ...run,
    reason: run.reason ?? undefined,
    covers: run.covers ?? undefined,
    since: run.since ?? undefined,
    data: run.data ?? undefined,
    retryOf: run.retryOf ?? undefined,
    place: run.place || undefined,
    readyAt: run.readyAt || undefined,
    attempt: run.attempt || undefined,
    attemptId: run.attemptId ?? undefined,
    session: run.session ?? undefined,
    token: run.token || undefined,
    stop: undefined,
    retries: run.retries || undefined,
    recoveries: run.recoveries || undefined,
    repeats: run.repeats || undefined,
    attempts: run.attempts.length === 0 ? undefined : run.attempts.map(shortAttempt),
    startedAt: run.startedAt ?? undefined,
    endedAt: run.endedAt ?? undefined,
    result: run.result ?? undefined,
    error: run.error ?? undefined,
  })
}

function shortAttempt(attempt: Attempt): unknown {
  return {
    ...attempt,
    endedAt: attempt.endedAt ?? undefined,
    outcome: attempt.outcome ?? undefined,
    note: attempt.note ?? undefined,
  }
}

/**
 * What the text of a run stands for, its values as they are: a number that is null is not one that was left out. Written out
 * field by field, since rows are read a hundred at a time, and merging objects costs ten times as much.
 */
export function fullRun(
  found: Readonly<Record<string, unknown>>,
  stop: Stop | null,
): Readonly<Record<keyof Run, unknown>> {
  const run: Record<keyof Run, unknown> = {
    job: found.job,
    key: found.key,
    cause: found.cause,
    lane: found.lane,
    state: found.state,
    reason: found.reason ?? null,
    covers: found.covers ?? null,
    scheduledAt: found.scheduledAt,
    date: found.date,
    since: found.since ?? null,
    resource: found.resource,
    definition: found.definition,
    data: found.data ?? null,
    retryOf: found.retryOf ?? null,
    position: found.position,
    place: found.place === undefined ? false : found.place,
    readyAt: found.readyAt === undefined ? 0 : found.readyAt,
    attempt: found.attempt === undefined ? 0 : found.attempt,
    attemptId: found.attemptId ?? null,
    session: found.session ?? null,
    token: found.token === undefined ? 0 : found.token,
    stop,
    retries: found.retries === undefined ? 0 : found.retries,
    recoveries: found.recoveries === undefined ? 0 : found.recoveries,
    repeats: found.repeats === undefined ? 0 : found.repeats,
    attempts: Array.isArray(found.attempts)
      ? found.attempts.map(fullAttempt)
      : found.attempts === undefined
        ? []
        : null,
    createdAt: found.createdAt,
    startedAt: found.startedAt ?? null,
    endedAt: found.endedAt ?? null,
    result: found.result ?? null,
    error: found.error ?? null,
  }
  for (const name in found) if (!(name in run)) Object.assign(run, { [name]: found[name] })
  return run
}

/** The same for one of its attempts. */
function fullAttempt(found: Attempt | null): unknown {
  return found && { ...found, endedAt: found.endedAt ?? null, outcome: found.outcome ?? null, note: found.note ?? null }
}
