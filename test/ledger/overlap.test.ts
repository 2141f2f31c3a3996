import { describe, expect, test } from 'vitest'
import type { Definition, Overlap, Run } from '../../src/ledger/types.js'
import { Book, line } from './book.js'
import { rules, zonesOf } from './zones.js'

/** What overlap makes of one fresh occurrence, by what holds and awaits the places. A minute job in UTC, from 10:00:30. */
const day = '2026-11-29'
const k = (time: string): string => `${day}T${time}Z`
const one = (time: string, rest: string): string => `${k(time)} ${rest} ${k(time)}..${k(time)} x1`
const failed = { kind: 'threw', error: { name: 'Error', message: 'no', stack: null } } as const
const returned = { kind: 'returned', result: null } as const

function job(terms: Partial<Definition> = {}): Book {
  return Book.defined(`${day}T10:00:30Z`, terms)
}

function minute(book: Book, time: string, room = 100): Run[] {
  return book.attendAt(`${day}T${time}:00Z`, { room })
}

/** The rows made after the first `known` ones. */
function later(book: Book, known: number): string[] {
  return book.lines().slice(known)
}

describe('a place held by a fresh run that awaits its retry', () => {
  const cases: readonly (readonly [Overlap, string[], held: string])[] = [
    ['skip', [one('10:02', 'skipped(overlap) schedule')], 'queued'],
    ['wait', [one('10:02', 'queued schedule')], 'queued'],
    ['merge', [one('10:02', 'queued schedule')], 'queued'],
    ['replace', [one('10:02', 'running schedule')], 'cancelled'],
  ]
  test.each(cases)('%s', (overlap, rows, held) => {
    const book = job({ overlap, retry: { limit: 1, delayMs: 600_000, factor: 1, maxDelayMs: 600_000 } })
    const [run] = minute(book, '10:01')
    book.settle(run as Run, failed)
    expect(book.row(k('10:01'))).toMatchObject({ state: 'queued', place: true, attempt: 1 })
    minute(book, '10:02')
    expect(later(book, 1)).toEqual(rows)
    const after = book.row(k('10:01'))
    expect(after).toMatchObject({ state: held, place: held === 'queued' })
    expect(after.reason).toBe(overlap === 'replace' ? 'replaced' : null)
    expect(after.stop?.why ?? null).toBe(overlap === 'replace' ? `replaced by ${k('10:02')}` : null)
    expect(after.endedAt).toBe(overlap === 'replace' ? book.now : null)
  })
})

describe('two places', () => {
  test.each(['skip', 'wait', 'merge', 'replace'] as const)('%s leaves an open place to the next', (overlap) => {
    const book = job({ overlap, concurrency: 2 })
    minute(book, '10:01')
    minute(book, '10:02')
    expect(book.lines()).toEqual([one('10:01', 'running schedule'), one('10:02', 'running schedule')])
    expect(book.rows.get(k('10:01'))?.stop).toBeNull()
  })

  test('skip and wait decide when fresh runs hold both', () => {
    for (const [overlap, row] of [
      ['skip', one('10:03', 'skipped(overlap) schedule')],
      ['wait', one('10:03', 'queued schedule')],
    ] as const) {
      const book = job({ overlap, concurrency: 2 })
      for (const time of ['10:01', '10:02', '10:03']) minute(book, time)
      expect(later(book, 2)).toEqual([row])
    }
  })

  test('replace asks the oldest to stop, the next time the next, and the newest two have the places', () => {
    const book = job({ overlap: 'replace', concurrency: 2 })
    for (const time of ['10:01', '10:02', '10:03']) minute(book, time)
    const asked = () => book.live().flatMap((run) => (run.stop === null ? [] : [run.key]))
    expect(asked()).toEqual([k('10:01')])
    minute(book, '10:04')
    expect(asked()).toEqual([k('10:01'), k('10:02')])
    minute(book, '10:05')
    expect(later(book, 2)).toEqual([
      one('10:03', 'skipped(replaced) schedule'),
      one('10:04', 'queued schedule'),
      one('10:05', 'queued schedule'),
    ])
    for (const key of asked()) book.settle(book.row(key), { kind: 'cancelled', why: 'replace' })
    expect(book.attend().map((run) => run.key)).toEqual([k('10:04'), k('10:05')])
    expect(book.row(k('10:01'))).toMatchObject({ state: 'cancelled', reason: 'replaced', place: false })
  })

  test('one held by a manual run is not held by a fresh one: the next waits, whatever the policy', () => {
    for (const overlap of ['skip', 'wait', 'merge', 'replace'] as const) {
      const book = job({ overlap, concurrency: 2 })
      book.ask('trigger')
      book.attend()
      minute(book, '10:01')
      minute(book, '10:02')
      expect(later(book, 1)).toEqual([one('10:01', 'running schedule'), one('10:02', 'queued schedule')])
      expect(book.live().every((run) => run.stop === null)).toBe(true)
    }
  })

  test('both held by manual runs: as many fresh ones wait as there are places, then skip decides', () => {
    const book = job({ concurrency: 2 })
    book.ask('trigger')
    book.ask('trigger')
    book.attend()
    for (const time of ['10:01', '10:02', '10:03']) minute(book, time)
    expect(later(book, 2)).toEqual([
      one('10:01', 'queued schedule'),
      one('10:02', 'queued schedule'),
      one('10:03', 'skipped(overlap) schedule'),
    ])
  })
})

describe('manual, backfill and catch-up runs in the way', () => {
  const inTheWay = {
    manual: (book: Book) => book.ask('trigger'),
    backfill: (book: Book) => book.ask('backfill', { from: Date.parse(k('09:00')), to: Date.parse(k('09:00')) }),
    'catch-up': (book: Book) => {
      book.now = Date.parse(k('10:04:00'))
    },
  }
  const first = { manual: '10:01', backfill: '10:01', 'catch-up': '10:05' } as const
  const next = { manual: ['10:02', '10:03'], backfill: ['10:02', '10:03'], 'catch-up': ['10:06', '10:07'] } as const
  test.each(['manual', 'backfill', 'catch-up'] as const)('%s: one such occurrence waits under skip', (cause) => {
    const book = job()
    inTheWay[cause](book)
    const holder = book.take()
    expect(holder.cause).toBe(cause)
    minute(book, first[cause])
    for (const time of next[cause]) minute(book, time)
    const [second, third] = next[cause]
    expect(later(book, 1)).toEqual([
      one(first[cause], 'queued schedule'),
      `${k(second)} skipped(overlap) schedule ${k(second)}..${k(third)} x2`,
    ])
    book.settle(holder, returned)
    expect(book.take().key).toBe(k(first[cause]))
  })

  test('replace lets the waiting one go, and never asks the manual run to stop', () => {
    const book = job({ overlap: 'replace' })
    book.ask('trigger')
    const manual = book.take()
    minute(book, '10:01')
    minute(book, '10:02')
    expect(book.row(manual.key).stop).toBeNull()
    expect(later(book, 1)).toEqual([one('10:01', 'skipped(replaced) schedule'), one('10:02', 'queued schedule')])
  })

  test('merge: the waiting one absorbs what follows', () => {
    const book = job({ overlap: 'merge' })
    book.ask('trigger')
    book.attend()
    minute(book, '10:01')
    minute(book, '10:02')
    expect(later(book, 1)).toEqual([`${k('10:01')} queued schedule ${k('10:01')}..${k('10:02')} x2`])
  })
})

describe('replace', () => {
  test('asks a running one once, lets a waiting one go, and grants when the holder is gone', () => {
    const book = job({ overlap: 'replace' })
    const [run] = minute(book, '10:01')
    minute(book, '10:02')
    const stop = book.row(k('10:01')).stop
    expect(stop).toEqual({
      kind: 'replace',
      at: Date.parse(k('10:02')),
      by: 'fleetcron',
      why: `replaced by ${k('10:02')}`,
    })
    minute(book, '10:03')
    expect(book.row(k('10:01')).stop).toEqual(stop)
    expect(book.row(k('10:02'))).toMatchObject({ state: 'skipped', reason: 'replaced', endedAt: book.now })
    expect(book.aggregate().header.waiting.schedule).toBe(1)
    book.settle(run as Run, { kind: 'cancelled', why: 'replace' })
    expect(book.take().key).toBe(k('10:03'))
    expect(line(book.row(k('10:01')))).toBe(one('10:01', 'cancelled(replaced) schedule'))
  })

  test('a holder that returned all the same has succeeded', () => {
    const book = job({ overlap: 'replace' })
    const [run] = minute(book, '10:01')
    minute(book, '10:02')
    book.settle(run as Run, returned)
    expect(book.row(k('10:01'))).toMatchObject({ state: 'succeeded', stop: { kind: 'replace' } })
    expect(book.take().key).toBe(k('10:02'))
  })

  test('a holder that threw before it learned of the stop is not retried', () => {
    const book = job({ overlap: 'replace', retry: { limit: 3, delayMs: 60_000, factor: 1, maxDelayMs: 60_000 } })
    const [run] = minute(book, '10:01')
    minute(book, '10:02')
    book.settle(run as Run, failed)
    expect(book.row(k('10:01'))).toMatchObject({ state: 'queued', stop: { kind: 'replace' } })
    expect(book.take().key).toBe(k('10:02'))
    expect(book.row(k('10:01'))).toMatchObject({ state: 'cancelled', reason: 'replaced', place: false })
  })
})

describe('merge', () => {
  test('a run that waits absorbs only what follows its last label: not over a gap, not under other terms', () => {
    const book = job({ overlap: 'merge' })
    minute(book, '10:01')
    minute(book, '10:02')
    book.now = Date.parse(k('10:02:10'))
    book.ask('pause')
    book.now = Date.parse(k('10:03:10'))
    book.ask('resume')
    minute(book, '10:04')
    minute(book, '10:05')
    book.now = Date.parse(k('10:05:10'))
    book.define('d2', { ...book.aggregate().definition, recover: 5 })
    minute(book, '10:06')
    expect(later(book, 1)).toEqual([
      one('10:02', 'queued schedule'),
      one('10:03', 'missed(paused) schedule'),
      `${k('10:04')} queued schedule ${k('10:04')}..${k('10:05')} x2`,
      one('10:06', 'queued schedule'),
    ])
  })

  test('a run that a node with other zone data made absorbs the rest of its gap first, then what follows that', () => {
    const schedule = { cron: '0,30 1,2,3 * * *', timeZone: 'New York', dstGap: 'next' } as const
    const book = Book.defined('2026-03-08T06:50Z', { schedule, overlap: 'merge' })
    // It has not heard of the clock change at 07:00Z, for which 02:00 is not followed by 03:00 at once.
    book.zones = zonesOf({ 'New York': rules(-5) })
    book.attendAt('2026-03-08T07:00Z', { room: 0 })
    expect(book.lines()).toEqual(['2026-03-08T02:00 queued schedule 2026-03-08T02:00..2026-03-08T02:00 x1'])
    book.zones = zonesOf()
    book.attendAt('2026-03-08T07:00:30Z', { room: 0 })
    expect(book.lines()).toEqual(['2026-03-08T02:00 queued schedule 2026-03-08T02:00..2026-03-08T02:30 x2'])
    book.attendAt('2026-03-08T07:30Z', { room: 0 })
    expect(book.lines()).toEqual(['2026-03-08T02:00 queued schedule 2026-03-08T02:00..2026-03-08T03:30 x3'])
  })

  test('is bounded by queue where it cannot absorb', () => {
    const book = job({ overlap: 'merge', queue: 1 })
    minute(book, '10:01')
    minute(book, '10:02')
    book.define('d2', { ...book.aggregate().definition, recover: 5 })
    minute(book, '10:03')
    expect(later(book, 2)).toEqual([one('10:03', 'skipped(queue-full) schedule')])
  })
})

describe('a node without room', () => {
  test('what waits for an open place counts as holding it', () => {
    const book = job({ queue: 1 })
    minute(book, '10:01', 0)
    minute(book, '10:02', 0)
    expect(book.lines()).toEqual([one('10:01', 'queued schedule'), one('10:02', 'skipped(overlap) schedule')])
    const wait = job({ overlap: 'wait', queue: 1 })
    for (const time of ['10:01', '10:02', '10:03']) minute(wait, time, 0)
    expect(wait.lines().slice(1)).toEqual([
      one('10:02', 'skipped(queue-full) schedule').replace(`${k('10:02')} x1`, `${k('10:03')} x2`),
    ])
  })
})
