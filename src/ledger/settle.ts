import type { Outcome } from './context.js'
import { TEXT_LIMITS, UNCHARGED_REPEATS } from './limits.js'
import { retryDelayMs } from './retry.js'
import type { REASONS, Reason } from './states.js'
import { stopReason } from './stop.js'
import { cleanText, keptJson } from './text.js'
import type { AttemptOutcome, Definition, Run, RunError, Settlement } from './types.js'

/**
 * The end of one attempt, decided on the run alone, so that a far or slow node can always settle. The store accepts it
 * while the run still runs under this token, whoever is alive.
 */
export function settleRun(run: Run, definition: Definition, outcome: Outcome, now: number): Settlement {
  const base = {
    job: run.job,
    key: run.key,
    token: run.token,
    attemptId: run.attemptId ?? '',
    failures: 'keep',
    wakeAt: null,
    succeededUntil: null,
    tokenFloor: null,
  } as const
  switch (outcome.kind) {
    case 'returned': {
      const ended = terminal(run, 'succeeded', 'succeeded', null, null, now)
      const scheduled = run.cause === 'schedule' || run.cause === 'catch-up'
      return {
        ...base,
        run: { ...ended, result: keptJson(outcome.result, TEXT_LIMITS.result), error: null },
        failures: 'reset',
        succeededUntil: scheduled ? run.scheduledAt : null,
      }
    }
    case 'threw': {
      const error = cleanError(outcome.error)
      if (run.retries >= definition.retry.limit) {
        const reason = outcome.uncertain === true ? 'uncertain' : 'error'
        const failed = { ...terminal(run, 'failed', 'failed', reason, error.message, now), error }
        return { ...base, run: failed, failures: 'count' }
      }
      const readyAt = now + retryDelayMs(run, definition.retry)
      const again = requeue(run, 'failed', error.message, readyAt, now)
      return { ...base, run: { ...again, retries: run.retries + 1, error }, wakeAt: readyAt }
    }
    case 'timed-out': {
      const note =
        definition.timeoutMs === null ? 'did not end in time' : `did not end within ${definition.timeoutMs} ms`
      const error = { name: 'TimeoutError', message: note, stack: null }
      return {
        ...base,
        run: { ...terminal(run, 'failed', 'timed-out', 'timeout', note, now), error },
        failures: 'count',
      }
    }
    case 'cancelled': {
      const reason = stopReason(outcome.why)
      return { ...base, run: terminal(run, 'cancelled', 'cancelled', reason, reason, now) }
    }
    case 'handed-back':
      return { ...base, ...handBack(run, definition, outcome.why, outcome.called, now) }
    case 'refused-by-fence': {
      const why = `a fence showed token ${outcome.token}`
      return { ...base, ...handBack(run, definition, why, outcome.called, now), tokenFloor: outcome.token }
    }
  }
}

/** Marks the running attempt as over, in the list of attempts that the row keeps. */
export function endAttempt(run: Run, outcome: AttemptOutcome, note: string | null, now: number): Run {
  const clean = note === null ? null : cleanText(note, TEXT_LIMITS.note)
  const attempts = run.attempts.map((attempt) =>
    attempt.id === run.attemptId ? { ...attempt, endedAt: now, outcome, note: clean } : attempt,
  )
  return { ...run, attempts }
}

function terminal<State extends 'succeeded' | 'failed' | 'cancelled'>(
  run: Run,
  state: State,
  outcome: AttemptOutcome,
  reason: State extends keyof typeof REASONS ? Reason<State> : null,
  note: string | null,
  now: number,
): Run {
  return { ...endAttempt(run, outcome, note, now), state, reason, place: false, endedAt: now }
}

/** Back to the queue with its place kept: nobody else's turn comes in between. */
function requeue(run: Run, outcome: AttemptOutcome, note: string, readyAt: number, now: number): Run {
  return { ...endAttempt(run, outcome, note, now), state: 'queued', readyAt }
}

/**
 * A hand-back is nobody's failure. Where the handler was called it counts as an uncharged repeat, of which a run may
 * have ten; where it was not called nothing is counted, and a second one in a row waits, so that a business database
 * that is away is not asked in a loop.
 */
function handBack(run: Run, definition: Definition, why: string, called: boolean, now: number) {
  if (!called) {
    const delayMs = notCalledDelayMs(run)
    const readyAt = delayMs === 0 ? 0 : now + delayMs
    return { run: requeue(run, 'handed-back', `${NOT_CALLED}${why}`, readyAt, now), wakeAt: readyAt }
  }
  const charged = run.repeats >= UNCHARGED_REPEATS
  if (definition.recover === 0 || (charged && run.recoveries >= definition.recover)) {
    const failed = terminal(run, 'failed', 'handed-back', 'handed-back', why, now)
    return { run: failed, failures: 'count' as const }
  }
  const charge = charged ? { recoveries: run.recoveries + 1 } : { repeats: run.repeats + 1 }
  return { run: { ...requeue(run, 'handed-back', why, 0, now), ...charge }, wakeAt: 0 }
}

const NOT_CALLED = 'not called: '

/** Nothing after the first, then 1 s, 2 s, 4 s and so on, at most a minute. */
function notCalledDelayMs(run: Run): number {
  const earlier = run.attempts.filter((attempt) => attempt.id !== run.attemptId)
  const others = earlier.findLastIndex(
    ({ outcome, note }) => outcome !== 'handed-back' || !note?.startsWith(NOT_CALLED),
  )
  const inARow = earlier.length - 1 - others
  return inARow === 0 ? 0 : Math.min(60_000, 1_000 * 2 ** (inARow - 1))
}

export function cleanError(error: RunError): RunError {
  return {
    name: cleanText(error.name, TEXT_LIMITS.name),
    message: cleanText(error.message, TEXT_LIMITS.errorMessage),
    stack: error.stack === null ? null : cleanText(error.stack, TEXT_LIMITS.errorStack),
  }
}
