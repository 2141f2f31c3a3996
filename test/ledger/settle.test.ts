import { describe, expect, test } from 'vitest'
import { settleRun } from '../../src/ledger/index.js'
import { retryDelayMs } from '../../src/ledger/retry.js'
import type { Definition, Run } from '../../src/ledger/types.js'
import { Book } from './book.js'

const returned = { kind: 'returned', result: null } as const
const threw = (message = 'no') => ({ kind: 'threw', error: { name: 'Error', message, stack: null } }) as const
const handedBack = (called: boolean, why = 'the node stops') => ({ kind: 'handed-back', why, called }) as const

/** A job whose first run was granted at 10:01. */
function granted(terms: Partial<Definition> = {}): { book: Book; run: Run } {
  const book = Book.defined('2026-11-29T10:00:30Z', { overlap: 'wait', ...terms })
  book.now = Date.parse('2026-11-29T10:01:00Z')
  return { book, run: book.take() }
}

const KEY = '2026-11-29T10:01Z'

describe('a handler that returned', () => {
  test('has succeeded, with its result; failures are forgotten and since moves on', () => {
    const { book, run } = granted()
    book.now += 1_500
    const settlement = settleRun(run, book.aggregate().definition, { kind: 'returned', result: '{"n":1}' }, book.now)
    expect(settlement).toMatchObject({
      job: 'svc:job',
      key: KEY,
      token: run.token,
      attemptId: 'c2.0',
      failures: 'reset',
      wakeAt: null,
      tokenFloor: null,
      succeededUntil: Date.parse('2026-11-29T10:01:00Z'),
    })
    expect(settlement.run).toMatchObject({
      state: 'succeeded',
      reason: null,
      place: false,
      result: '{"n":1}',
      error: null,
    })
    expect(settlement.run.endedAt).toBe(book.now)
    expect(settlement.run.attempts).toEqual([
      {
        id: 'c2.0',
        session: 's1',
        node: 'n1#1',
        token: run.token,
        startedAt: book.now - 1_500,
        endedAt: book.now,
        outcome: 'succeeded',
        note: null,
      },
    ])
  })

  test('after a retry: the error of the attempt before is not the run’s any more', () => {
    const { book, run } = granted({ retry: { limit: 1, delayMs: 0, factor: 1, maxDelayMs: 0 } })
    book.settle(run, threw('first'))
    book.settle(book.take(), returned)
    const row = book.row(KEY)
    expect(row).toMatchObject({ state: 'succeeded', attempt: 2, retries: 1, error: null })
    expect(row.attempts.map(({ outcome, note }) => [outcome, note])).toEqual([
      ['failed', 'first'],
      ['succeeded', null],
    ])
  })

  test('a manual run or a backfill moves no since, a catch-up run does', () => {
    const { book, run } = granted()
    const until = (cause: Run['cause']) =>
      settleRun({ ...run, cause }, book.aggregate().definition, returned, book.now).succeededUntil
    expect([until('manual'), until('backfill')]).toEqual([null, null])
    expect([until('schedule'), until('catch-up')]).toEqual([run.scheduledAt, run.scheduledAt])
  })
})

describe('a handler that threw', () => {
  test('without retry: failed, and counted', () => {
    const { book, run } = granted()
    book.settle(run, { kind: 'threw', error: { name: 'TypeError', message: 'no', stack: 'at x' } })
    expect(book.row(KEY)).toMatchObject({
      state: 'failed',
      reason: 'error',
      place: false,
      endedAt: book.now,
      error: { name: 'TypeError', message: 'no', stack: 'at x' },
    })
    expect(book.row(KEY).attempts[0]).toMatchObject({ outcome: 'failed', note: 'no', endedAt: book.now })
    expect(book.aggregate().tally.failures).toBe(1)
  })

  test('with retry: keeps its place, waits for its delay, and is granted with the same key, date, covers and since', () => {
    const { book, run } = granted({ retry: { limit: 2, delayMs: 20_000, factor: 2, maxDelayMs: 60_000 } })
    book.settle(run, threw())
    const { readyAt, ...row } = book.row(KEY)
    expect(row).toMatchObject({ state: 'queued', place: true, retries: 1, error: { message: 'no' }, endedAt: null })
    expect(readyAt).toBe(book.now + retryDelayMs({ ...run, retries: 0 }, book.aggregate().definition.retry))
    expect(book.aggregate()).toMatchObject({ header: { wakeAt: readyAt }, tally: { failures: 0 } })
    book.now = readyAt - 1
    expect(book.attend()).toEqual([])
    expect(book.aggregate().header.wakeAt).toBe(readyAt)
    book.now = readyAt
    const again = book.take()
    expect(again).toMatchObject({
      attempt: 2,
      startedAt: run.startedAt,
      attemptId: expect.not.stringMatching(run.attemptId ?? ''),
    })
    for (const field of ['key', 'date', 'covers', 'since', 'scheduledAt', 'resource'] as const) {
      expect(again[field]).toEqual(run[field])
    }
    expect(again.token).toBeGreaterThan(run.token)
    book.settle(again, threw())
    book.now = book.row(KEY).readyAt
    book.settle(book.take(), threw('last'))
    expect(book.row(KEY)).toMatchObject({ state: 'failed', attempt: 3, retries: 2, error: { message: 'last' } })
    expect(book.aggregate().tally.failures).toBe(1)
  })

  test('while the next one waits for the place: the place is kept for the retry', () => {
    const { book, run } = granted({ retry: { limit: 1, delayMs: 90_000, factor: 1, maxDelayMs: 90_000 } })
    book.settle(run, threw())
    expect(book.attendAt('2026-11-29T10:02:00Z')).toEqual([])
    expect(book.row('2026-11-29T10:02Z').state).toBe('queued')
    expect(book.attendAt('2026-11-29T10:02:30Z').map(({ key }) => key)).toEqual([KEY])
  })
})

describe('the delay of a retry', () => {
  const retry = { limit: 9, delayMs: 1_000, factor: 2, maxDelayMs: 60_000 }
  const delayMs = (retries: number, key = 'k', terms = retry) => retryDelayMs({ job: 'svc:job', key, retries }, terms)

  test('grows by the factor up to its ceiling, less at most a quarter', () => {
    for (const [retries, full] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
      for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
        expect(delayMs(retries, key)).toBeLessThanOrEqual(full)
        expect(delayMs(retries, key)).toBeGreaterThan(full * 0.75 - 1)
      }
    }
  })

  test('its jitter is a function of run and count, the same on every node, and differs between them', () => {
    expect([delayMs(0), delayMs(1), delayMs(0, 'other')]).toEqual([927, 1876, 864])
    const spread = Array.from({ length: 200 }, (_, i) => delayMs(0, `key ${i}`))
    expect(new Set(spread).size).toBeGreaterThan(100)
    expect(Math.min(...spread)).toBeLessThan(780)
    expect(Math.max(...spread)).toBeGreaterThan(970)
  })

  test('is a number for any terms', () => {
    expect(delayMs(5_000)).toBeGreaterThan(44_999)
    expect(delayMs(5_000, 'k', { ...retry, delayMs: 0 })).toBe(0)
    expect(delayMs(3, 'k', { ...retry, factor: 0 })).toBe(0)
  })
})

describe('timeout, cancel and replace', () => {
  test('F76 timed out: failed, place freed and the next may start, whatever the handler does afterwards', () => {
    const { book, run } = granted({ timeoutMs: 30_000, retry: { limit: 5, delayMs: 0, factor: 1, maxDelayMs: 0 } })
    book.attendAt('2026-11-29T10:02:00Z')
    book.settle(run, { kind: 'timed-out' })
    expect(book.row(KEY)).toMatchObject({
      state: 'failed',
      reason: 'timeout',
      place: false,
      error: { name: 'TimeoutError', message: 'did not end within 30000 ms', stack: null },
      attempts: [{ outcome: 'timed-out', note: 'did not end within 30000 ms' }],
    })
    expect(book.aggregate().tally.failures).toBe(1)
    expect(book.settle(run, returned)).toBe(false)
    expect(book.take().key).toBe('2026-11-29T10:02Z')
    const unlimited = { ...book.aggregate().definition, timeoutMs: null }
    expect(settleRun(run, unlimited, { kind: 'timed-out' }, book.now).run.error?.message).toBe('did not end in time')
  })

  test.each([
    ['cancel', 'cancelled'],
    ['replace', 'replaced'],
  ] as const)('asked to %s: cancelled, and not a failure', (why, reason) => {
    const { book, run } = granted()
    book.settle(run, { kind: 'cancelled', why })
    expect(book.row(KEY)).toMatchObject({ state: 'cancelled', reason, place: false, endedAt: book.now, error: null })
    expect(book.row(KEY).attempts[0]).toMatchObject({ outcome: 'cancelled', note: reason })
    expect(book.aggregate().tally.failures).toBe(0)
  })
})

describe('a hand-back', () => {
  test('called: uncharged ten times, then charged to recover, then failed', () => {
    const { book, run } = granted({ recover: 2 })
    let current = run
    const seen: number[][] = []
    for (let turn = 0; turn < 50 && book.row(KEY).state === 'running'; turn += 1) {
      book.now += 1_000
      book.settle(current, handedBack(true))
      const { state, repeats, recoveries } = book.row(KEY)
      seen.push([repeats, recoveries])
      if (state === 'queued') current = book.take()
    }
    expect(seen.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, i) => [i + 1, 0]))
    expect(seen.slice(10)).toEqual([
      [10, 1],
      [10, 2],
      [10, 2],
    ])
    expect(book.row(KEY)).toMatchObject({ state: 'failed', reason: 'handed-back', place: false, attempt: 13 })
    expect(book.row(KEY).attempts.at(-1)).toMatchObject({ outcome: 'handed-back', note: 'the node stops' })
    expect(book.aggregate().tally.failures).toBe(1)
  })

  test('called: ready at once, also after a step back of the clock, and its place is kept', () => {
    const { book, run } = granted()
    book.now += 10_000
    book.settle(run, handedBack(true))
    expect(book.row(KEY)).toMatchObject({ state: 'queued', place: true, repeats: 1, recoveries: 0, retries: 0 })
    expect(book.aggregate().header.wakeAt).toBe(0)
    book.now -= 5_000
    expect(book.take().attempt).toBe(2)
  })

  test('not called: never charged, also more than ten times; from the second in a row on it waits, at most a minute', () => {
    const { book, run } = granted({ recover: 0, overlap: 'skip' })
    let current = run
    const waits: number[] = []
    for (let i = 0; i < 30; i += 1) {
      const away = handedBack(false, 'the business database is away')
      const { wakeAt } = settleRun(current, book.aggregate().definition, away, book.now)
      waits.push(Math.max(0, (wakeAt ?? 0) - book.now))
      book.settle(current, away)
      expect(book.attend({ room: 9 }).length).toBe(i === 0 ? 1 : 0)
      if (i > 0) book.now = book.row(KEY).readyAt
      current = i === 0 ? book.row(KEY) : book.take({ room: 1 })
      expect(current).toMatchObject({ key: KEY, repeats: 0, recoveries: 0, state: 'running' })
    }
    expect(waits.slice(0, 9)).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    expect(book.row(KEY).attempt).toBe(31)
    expect(book.row(KEY).attempts).toHaveLength(20)
    expect(book.row(KEY).attempts[0]?.note).toBe('not called: the business database is away')
    book.settle(current, returned)
    expect(book.row(KEY).state).toBe('succeeded')
  })

  test('not called after one that was: begins to count again', () => {
    const { book, run } = granted()
    const step = (current: Run, called: boolean): number => {
      const settlement = settleRun(current, book.aggregate().definition, handedBack(called), book.now)
      book.settle(current, handedBack(called))
      return Math.max(0, (settlement.wakeAt ?? 0) - book.now)
    }
    const delays = [step(run, false)]
    for (const called of [false, true, false, false, false]) {
      book.now = Math.max(book.now, book.row(KEY).readyAt)
      book.attend({ room: 1 })
      delays.push(step(book.row(KEY), called))
    }
    expect(delays).toEqual([0, 1_000, 0, 0, 1_000, 2_000])
  })

  test('recover 0: once the handler was called no other attempt follows', () => {
    const { book, run } = granted({ recover: 0 })
    book.settle(run, handedBack(false))
    const again = book.take()
    book.settle(again, handedBack(true))
    expect(book.row(KEY)).toMatchObject({ state: 'failed', reason: 'handed-back', attempt: 2 })
  })
})

describe('a fence that shows a higher token', () => {
  test('raises the floor: the next attempt is uncharged and above it', () => {
    const { book, run } = granted()
    const shown = run.token + 5_000_000_000
    book.settle(run, { kind: 'refused-by-fence', token: shown, called: false })
    expect(book.row(KEY)).toMatchObject({ state: 'queued', place: true, repeats: 0, recoveries: 0, retries: 0 })
    expect(book.row(KEY).attempts[0]).toMatchObject({
      outcome: 'handed-back',
      note: `not called: a fence showed token ${shown}`,
    })
    expect(book.aggregate().tally.tokenFloor).toBe(shown)
    expect(book.take().token).toBe(shown + 1)
  })

  test('in a handler that was called it counts as an uncharged repeat, and recover 0 forbids it', () => {
    const called = { kind: 'refused-by-fence', token: 7, called: true } as const
    const { book, run } = granted()
    book.settle(run, called)
    expect(book.row(KEY)).toMatchObject({ state: 'queued', repeats: 1 })
    const other = granted({ recover: 0 })
    other.book.settle(other.run, called)
    expect(other.book.row(KEY)).toMatchObject({ state: 'failed', reason: 'handed-back' })
  })
})
