import { describe, expect, test } from 'vitest'
import type { CatchUp, Run } from '../../src/ledger/types.js'
import { Book } from './book.js'

const returned = { kind: 'returned', result: null } as const
const each = (most: number): CatchUp => ({ policy: 'each', withinMs: 7 * 86_400_000, most })
const merge = (withinMs: number | null, most = 100): CatchUp => ({ policy: 'merge', withinMs, most })

/** The rows as `key state(reason) from..to xcount`, without the cause. */
function rows(book: Book): string[] {
  return [...book.rows.values()].map(({ key, state, reason, covers }) => {
    const span = covers === null ? '' : ` ${covers.from}..${covers.to} x${covers.count}`
    return `${key} ${state}${reason === null ? '' : `(${reason})`}${span}`
  })
}

describe('a waiting catch-up run', () => {
  function waiting(catchUp: CatchUp): { book: Book; holder: Run } {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp, graceMs: 0 })
    book.ask('trigger')
    const holder = book.take()
    book.attendAt('2026-11-29T10:02:30Z')
    return { book, holder }
  }

  test('absorbs what follows its last label, and is frozen at its grant', () => {
    const { book, holder } = waiting(merge(null))
    book.attendAt('2026-11-29T10:03:30Z')
    book.attendAt('2026-11-29T10:05:30Z')
    expect(rows(book).slice(1)).toEqual(['2026-11-29T10:01Z queued 2026-11-29T10:01Z..2026-11-29T10:05Z x5'])
    expect(book.aggregate().header.waiting).toEqual({ schedule: 0, manual: 0, backlog: 1 })
    book.settle(holder, returned)
    const run = book.take()
    expect(run).toMatchObject({ scheduledAt: Date.parse('2026-11-29T10:05Z'), date: '2026-11-29', cause: 'catch-up' })
    book.attendAt('2026-11-29T10:06:30Z')
    expect(book.row('2026-11-29T10:01Z').covers?.count).toBe(5)
    expect(book.row('2026-11-29T10:06Z')).toMatchObject({ state: 'queued', covers: { count: 1 } })
  })

  test('does not grow to the age of within', () => {
    const { book } = waiting(merge(240_000))
    for (const minute of ['03', '04', '05', '06']) book.attendAt(`2026-11-29T10:${minute}:30Z`)
    expect(rows(book).slice(1)).toEqual([
      '2026-11-29T10:01Z queued 2026-11-29T10:01Z..2026-11-29T10:04Z x4',
      '2026-11-29T10:05Z queued 2026-11-29T10:05Z..2026-11-29T10:06Z x2',
    ])
  })

  test('does not absorb over what was decided otherwise, nor over a backfill, nor under other terms', () => {
    const { book } = waiting(merge(null))
    book.ask('pause')
    book.now = Date.parse('2026-11-29T10:03:30Z')
    book.ask('resume')
    book.attendAt('2026-11-29T10:04:30Z')
    book.ask('backfill', { from: Date.parse('2026-11-29T09:00Z'), to: Date.parse('2026-11-29T09:00Z') })
    book.attendAt('2026-11-29T10:05:30Z')
    book.define('d2', { ...book.aggregate().definition, recover: 9 })
    book.attendAt('2026-11-29T10:06:30Z')
    expect(rows(book).slice(1)).toEqual([
      '2026-11-29T10:01Z queued 2026-11-29T10:01Z..2026-11-29T10:02Z x2',
      '2026-11-29T10:03Z missed(paused) 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
      '2026-11-29T10:04Z queued 2026-11-29T10:04Z..2026-11-29T10:05Z x2',
      'backfill:r4:2026-11-29T09:00Z queued 2026-11-29T09:00Z..2026-11-29T09:00Z x1',
      '2026-11-29T10:06Z queued 2026-11-29T10:06Z..2026-11-29T10:06Z x1',
    ])
  })

  test('takes the fresh one in with the others, and never alone', () => {
    const { book } = waiting(merge(null))
    book.define('d2', { ...book.aggregate().definition, graceMs: 60_000 })
    book.attendAt('2026-11-29T10:03:01Z')
    book.attendAt('2026-11-29T10:05:01Z')
    expect(rows(book).slice(2)).toEqual([
      '2026-11-29T10:03Z queued 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
      '2026-11-29T10:04Z queued 2026-11-29T10:04Z..2026-11-29T10:05Z x2',
    ])
    expect([book.row('2026-11-29T10:03Z').cause, book.row('2026-11-29T10:04Z').cause]).toEqual(['schedule', 'catch-up'])
  })
})

describe('most', () => {
  test('merge: where so many wait already what is found is missed, but the fresh one is not', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: merge(120_000, 2), graceMs: 10_000 })
    book.ask('trigger')
    book.attend()
    for (const minute of ['02:30', '04:30', '06:30', '08:05']) book.attendAt(`2026-11-29T10:${minute}Z`)
    expect(rows(book).slice(1)).toEqual([
      '2026-11-29T10:01Z queued 2026-11-29T10:01Z..2026-11-29T10:02Z x2',
      '2026-11-29T10:03Z queued 2026-11-29T10:03Z..2026-11-29T10:04Z x2',
      '2026-11-29T10:05Z missed(too-many) 2026-11-29T10:05Z..2026-11-29T10:07Z x3',
      '2026-11-29T10:08Z queued 2026-11-29T10:08Z..2026-11-29T10:08Z x1',
    ])
  })

  test('each: the latest that fit, less those that wait; a grant makes room', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: each(3), graceMs: 0 })
    book.attendAt('2026-11-29T10:02:30Z', { room: 0 })
    book.attendAt('2026-11-29T10:04:30Z', { room: 0 })
    expect(rows(book)).toEqual([
      '2026-11-29T10:01Z queued 2026-11-29T10:01Z..2026-11-29T10:01Z x1',
      '2026-11-29T10:02Z queued 2026-11-29T10:02Z..2026-11-29T10:02Z x1',
      '2026-11-29T10:03Z missed(too-many) 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
      '2026-11-29T10:04Z queued 2026-11-29T10:04Z..2026-11-29T10:04Z x1',
    ])
    book.attendAt('2026-11-29T10:04:40Z')
    book.attendAt('2026-11-29T10:06:30Z')
    expect(rows(book).slice(4)).toEqual([
      '2026-11-29T10:05Z missed(too-many) 2026-11-29T10:05Z..2026-11-29T10:05Z x1',
      '2026-11-29T10:06Z queued 2026-11-29T10:06Z..2026-11-29T10:06Z x1',
    ])
  })

  test('0: none wait', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: each(0) })
    book.attendAt('2026-11-29T10:03:05Z')
    expect(rows(book)).toEqual([
      '2026-11-29T10:01Z missed(too-many) 2026-11-29T10:01Z..2026-11-29T10:02Z x2',
      '2026-11-29T10:03Z running 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
    ])
  })

  test('backfills do not count, stand behind, and do not stop a waiting run from absorbing', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: merge(null, 1), graceMs: 0 })
    book.ask('backfill', { from: Date.parse('2026-11-29T01:00Z'), to: Date.parse('2026-11-29T04:59Z') })
    const holder = book.take()
    expect(holder.key).toBe('backfill:r1:2026-11-29T01:00Z')
    book.attendAt('2026-11-29T10:01:30Z')
    book.attendAt('2026-11-29T10:02:30Z')
    expect(rows(book).slice(-1)).toEqual(['2026-11-29T10:01Z queued 2026-11-29T10:01Z..2026-11-29T10:02Z x2'])
    expect(book.aggregate().header.waiting.backlog).toBe(240)
    book.settle(holder, returned)
    expect(book.take().key).toBe('2026-11-29T10:01Z')
  })

  test('where more wait than are loaded, all of them count', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: each(150), graceMs: 0 })
    book.attendAt('2026-11-29T12:10:30Z', { room: 0 })
    book.attendAt('2026-11-29T12:40:30Z', { room: 0 })
    expect(book.aggregate().header.waiting.backlog).toBe(150)
    expect(rows(book).filter((row) => row.includes('too-many'))).toEqual([
      '2026-11-29T12:11Z missed(too-many) 2026-11-29T12:11Z..2026-11-29T12:20Z x10',
    ])
  })
})

describe('turns', () => {
  test('with each, catch-up and fresh alternate', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: each(10), overlap: 'wait' })
    book.attendAt('2026-11-29T10:04:05Z', { room: 0 })
    book.attendAt('2026-11-29T10:05:05Z', { room: 0 })
    book.attendAt('2026-11-29T10:06:05Z', { room: 0 })
    const order: string[] = []
    for (let turn = 0; turn < 50 && book.live().length > 0; turn += 1) {
      const run = book.take()
      order.push(`${run.cause} ${run.key.slice(11)}`)
      book.settle(run, returned)
    }
    expect(order).toEqual([
      'catch-up 10:01Z',
      'schedule 10:04Z',
      'catch-up 10:02Z',
      'schedule 10:05Z',
      'catch-up 10:03Z',
      'schedule 10:06Z',
    ])
  })

  test('manual runs have a turn of their own, and an empty lane is passed over', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: each(10), overlap: 'wait' })
    book.attendAt('2026-11-29T10:03:05Z', { room: 0 })
    for (const id of ['a', 'b', 'c', 'd']) book.ask('trigger', { id })
    const order: string[] = []
    for (let turn = 0; turn < 50 && book.live().length > 0; turn += 1) {
      const run = book.take()
      order.push(run.key.replace('2026-11-29T', ''))
      book.settle(run, returned)
    }
    expect(order).toEqual(['manual:a', '10:01Z', '10:03Z', 'manual:b', '10:02Z', 'manual:c', 'manual:d'])
  })
})
