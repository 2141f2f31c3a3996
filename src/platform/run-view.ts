import type { Run } from '../ledger/types.js'

/** A run as JSON: instants are ISO texts in UTC, durations milliseconds, JSON that the ledger keeps as text is what it says. */
export function runView(run: Run) {
  const { job, key, cause, state, reason, covers, date, attempt, retryOf, stop, error, startedAt, endedAt } = run
  return {
    job,
    key,
    state,
    reason,
    cause,
    covers,
    scheduledAt: iso(run.scheduledAt),
    date,
    attempt,
    node: run.attempts.at(-1)?.node ?? null,
    createdAt: iso(run.createdAt),
    startedAt: iso(startedAt),
    endedAt: iso(endedAt),
    tookMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
    retryOf,
    stop: stop && { kind: stop.kind, at: iso(stop.at), by: stop.by, why: stop.why },
    data: fromJson(run.data),
    result: fromJson(run.result),
    error,
  }
}

export function iso(instant: number): string
export function iso(instant: number | null): string | null
export function iso(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}

export function fromJson(text: string | null): unknown {
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
