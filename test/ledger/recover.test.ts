import { describe, expect, test } from 'vitest'
import type { Definition, EndedSession, Run } from '../../src/ledger/types.js'
import { Book } from './book.js'

const KEY = '2026-11-29T10:01Z'

function granted(terms: Partial<Definition> = {}): { book: Book; run: Run } {
  const book = Book.defined('2026-11-29T10:00:30Z', terms)
  book.now = Date.parse('2026-11-29T10:01:00Z')
  return { book, run: book.take() }
}

/** The session of the run's attempt ends, and another one looks after the job. */
function lose(book: Book, session: string, more: Partial<EndedSession> = {}, room = 1): Run[] {
  book.now += 1_000
  return book.attend({ session: `${session}'`, room, ended: book.ended(session, more) })
}

describe('a lost attempt', () => {
  test('F34 is charged, and granted in the same change with a greater token and everything frozen', () => {
    const { book, run } = granted()
    const [again] = lose(book, 's1')
    expect(again).toMatchObject({ key: KEY, state: 'running', attempt: 2, recoveries: 1, repeats: 0, session: "s1'" })
    expect(again?.token).toBeGreaterThan(run.token)
    for (const field of ['key', 'date', 'covers', 'since', 'scheduledAt', 'resource', 'startedAt'] as const) {
      expect(again?.[field]).toEqual(run[field])
    }
    expect(again?.attempts).toMatchObject([
      { id: run.attemptId, outcome: 'lost', note: 'n: session ended', endedAt: book.now },
      { id: again?.attemptId, outcome: null, endedAt: null },
    ])
    const late = { kind: 'returned', result: null } as const
    expect(book.settle(run, late)).toBe(false)
    expect(book.events.at(-1)).toMatchObject({
      kind: 'recovered',
      by: 'n1#1',
      why: 'their sessions ended',
      data: `[{"key":"${KEY}","node":"n"}]`,
    })
  })

  test('without room here: queued, its place kept, and due at once for others', () => {
    const { book } = granted()
    expect(lose(book, 's1', {}, 0)).toEqual([])
    expect(book.row(KEY)).toMatchObject({ state: 'queued', place: true, recoveries: 1, session: 's1' })
    expect(book.aggregate().header.wakeAt).toBe(book.now)
    expect(book.take({ session: 's2' }).attempt).toBe(2)
  })

  test('L6 at most recover times, then failed and counted', () => {
    const { book } = granted({ recover: 2 })
    const states: string[] = []
    let session = 's1'
    for (let i = 0; i < 3; i += 1) {
      lose(book, session)
      session += "'"
      states.push(`${book.row(KEY).state} ${book.row(KEY).recoveries}`)
    }
    expect(states).toEqual(['running 1', 'running 2', 'failed 2'])
    expect(book.row(KEY)).toMatchObject({ reason: 'lost', place: false, endedAt: book.now, attempt: 3, error: null })
    expect(book.row(KEY).attempts.at(-1)?.outcome).toBe('lost')
    expect(book.aggregate().tally.failures).toBe(1)
  })

  test('recover 0: failed at once, also when the loss would be excused', () => {
    for (const returned of [false, true]) {
      const { book } = granted({ recover: 0 })
      lose(book, 's1', { returned })
      expect(book.row(KEY)).toMatchObject({ state: 'failed', reason: 'lost', recoveries: 0, repeats: 0 })
    }
  })

  test('of a session that has not ended is left alone', () => {
    const { book } = granted()
    book.now += 1_000
    expect(book.attend({ session: 's2', ended: book.ended('s9') })).toEqual([])
    expect(book.row(KEY)).toMatchObject({ state: 'running', session: 's1' })
  })

  test('whose earlier handler still runs in this process is left to another node', () => {
    const { book } = granted()
    const ended = book.ended('s1')
    book.now += 1_000
    expect(book.attend({ session: 's2', ended, busy: new Set([KEY]) })).toEqual([])
    expect(book.row(KEY)).toMatchObject({ state: 'running', session: 's1', attempt: 1 })
    expect(book.attend({ session: 's3', ended }).map((run) => run.session)).toEqual(['s3'])
  })

  test('asked to stop: cancelled when its session ends, also by the node in which its handler still runs', () => {
    const { book } = granted()
    expect(book.ask('cancel', { run: book.row(KEY) }).outcome).toBe('change')
    const ended = book.ended('s1')
    book.now += 1_000
    expect(book.attend({ session: 's2', ended, busy: new Set([KEY]) })).toEqual([])
    expect(book.row(KEY)).toMatchObject({ state: 'cancelled', reason: 'cancelled' })
  })

  test('replaced as its session ends: cancelled in that change, also by the node in which its handler still runs', () => {
    const { book } = granted({ overlap: 'replace' })
    const ended = book.ended('s1')
    book.now += 60_000
    const started = book.attend({ session: 's2', ended, busy: new Set([KEY]) })
    expect(started.map(({ key }) => key)).toEqual(['2026-11-29T10:02Z'])
    expect(book.row(KEY)).toMatchObject({ state: 'cancelled', reason: 'replaced', attempts: [{ outcome: 'lost' }] })
    expect(book.events.filter(({ kind }) => kind === 'recovered')).toHaveLength(1)
  })

  test('handed back while its handler still runs here: granted by another node only', () => {
    const { book, run } = granted()
    book.settle(run, { kind: 'handed-back', why: 'the session was lost', called: true })
    const before = book.changes.length
    expect(book.attend({ session: 's2', busy: new Set([KEY]) })).toEqual([])
    expect(book.changes).toHaveLength(before)
    expect(book.attend({ session: 's3' })).toHaveLength(1)
  })
})

describe('a loss that is excused', () => {
  test('the node has begun another session: not charged, at most ten times, then charged', () => {
    const { book } = granted({ recover: 1 })
    let session = 's1'
    const seen: string[] = []
    for (let turn = 0; turn < 50 && book.row(KEY).state === 'running'; turn += 1) {
      lose(book, session, { returned: true })
      session += "'"
      seen.push(`${book.row(KEY).repeats} ${book.row(KEY).recoveries}`)
    }
    expect(seen).toEqual([...Array.from({ length: 10 }, (_, i) => `${i + 1} 0`), '10 1', '10 1'])
    expect(book.row(KEY)).toMatchObject({ state: 'failed', reason: 'lost', attempt: 12 })
  })

  const end = Date.parse('2026-11-29T10:01:10Z')
  const troubles: readonly (readonly [string, { from: number; to: number } | null, boolean])[] = [
    ['none', null, false],
    ['over the end of the lease', { from: end - 5_000, to: end + 5_000 }, true],
    ['that began as the lease ran out', { from: end, to: end + 60_000 }, true],
    ['that began later', { from: end + 1, to: end + 60_000 }, false],
    ['that ended half a minute before', { from: end - 60_000, to: end - 30_000 }, true],
    ['that ended longer before', { from: end - 60_000, to: end - 30_001 }, false],
  ]
  test.each(troubles)('this node’s own beats failed: %s', (_, ownTrouble, excused) => {
    const { book } = granted()
    book.now = end + 1_000
    const [again] = book.attend({ session: 's2', ended: book.ended('s1', { leaseEnd: end }), ownTrouble })
    expect(again).toMatchObject(excused ? { repeats: 1, recoveries: 0 } : { repeats: 0, recoveries: 1 })
  })
})

describe('a run that was asked to stop before its session ended', () => {
  test.each([
    ['cancel', 'cancelled'],
    ['replace', 'replaced'],
  ] as const)('%s: cancelled, not recovered, and its place is free in the same change', (kind, reason) => {
    const { book, run } = granted({ overlap: kind === 'replace' ? 'replace' : 'wait' })
    book.attendAt('2026-11-29T10:02:00Z')
    if (kind === 'cancel') expect(book.ask('cancel', { run }).outcome).toBe('change')
    expect(book.row(KEY).stop?.kind).toBe(kind)
    const next = lose(book, 's1')
    expect(book.row(KEY)).toMatchObject({ state: 'cancelled', reason, place: false, endedAt: book.now, recoveries: 0 })
    expect(next.map(({ key }) => key)).toEqual(['2026-11-29T10:02Z'])
    expect(book.aggregate().tally.failures).toBe(0)
  })

  test('a place that is freed so is open to an occurrence that is due in the same moment', () => {
    const { book, run } = granted()
    book.ask('cancel', { run })
    book.now = Date.parse('2026-11-29T10:02:00Z')
    book.attend({ session: 's2', ended: book.ended('s1') })
    expect(book.row('2026-11-29T10:02Z').state).toBe('running')
    const other = granted({ retry: { limit: 1, delayMs: 600_000, factor: 1, maxDelayMs: 600_000 } })
    other.book.ask('cancel', { run: other.run })
    other.book.settle(other.run, { kind: 'threw', error: { name: 'E', message: 'no', stack: null } })
    other.book.attendAt('2026-11-29T10:02:00Z')
    expect(other.book.row(KEY)).toMatchObject({ state: 'cancelled', reason: 'cancelled' })
    expect(other.book.row('2026-11-29T10:02Z').state).toBe('running')
  })
})

describe('tokens', () => {
  test('S3 the store’s now in microseconds, and always more than the last, also when the clock steps back', () => {
    const { book, run } = granted()
    expect(run.token).toBe(Date.parse('2026-11-29T10:01:00Z') * 1_000)
    book.now -= 120_000
    const [second] = book.attend({ session: 's2', ended: book.ended('s1') })
    expect(second?.token).toBe(run.token + 1)
    const [third] = book.attend({ session: 's3', ended: book.ended('s2') })
    expect(third?.token).toBe(run.token + 2)
    expect(book.aggregate().header.lastToken).toBe(run.token + 2)
    expect(third?.token).toBeLessThan(Number.MAX_SAFE_INTEGER)
  })

  test('several grants of one change have tokens and attempt ids of their own', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { concurrency: 3 })
    for (const id of ['a', 'b', 'c']) book.ask('trigger', { id })
    const runs = book.attend({ room: 2 })
    expect(runs.map(({ key }) => key)).toEqual(['manual:a', 'manual:b'])
    expect(runs.map(({ attemptId }) => attemptId)).toEqual(['c5.0', 'c5.1'])
    expect((runs[1]?.token ?? 0) - (runs[0]?.token ?? 0)).toBe(1)
    expect(runs.map(({ resource }) => resource)).toEqual(['f/svc:job/manual:a', 'f/svc:job/manual:b'])
    expect(book.aggregate().header.waiting.manual).toBe(1)
  })
})

describe('a row that has had many attempts', () => {
  test('lists the last twenty and counts them all', () => {
    const { book } = granted({ recover: 40 })
    let session = 's1'
    for (let i = 0; i < 30; i += 1) {
      lose(book, session)
      session += "'"
    }
    const { attempts, attempt } = book.row(KEY)
    expect([attempts.length, attempt]).toEqual([20, 31])
    expect(attempts.at(-1)).toMatchObject({ session, outcome: null })
    expect(attempts[0]).toMatchObject({ session: `s1${"'".repeat(11)}`, outcome: 'lost' })
  })
})
