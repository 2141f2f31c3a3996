import { describe, expect, test } from 'vitest'
import * as ledger from '../../src/ledger/index.js'
import { Book, line, TERMS } from './book.js'

const HOURLY = { cron: '0 * * * *', timeZone: 'UTC', dstGap: 'next' } as const

/** An hourly job that is poked, defined at 10:30; `terms` may say otherwise. */
function poked(terms: Parameters<typeof Book.defined>[1] = {}): Book {
  return Book.defined('2026-11-29T10:30:00Z', { schedule: HOURLY, pokeGraceMs: 60_000, ...terms })
}

function poke(book: Book): boolean {
  return book.apply(ledger.poke(book.aggregate(), book.ctx()))
}

const waiting = (book: Book) => book.live().map(({ key, state, readyAt }) => [key.slice(11), state, readyAt - book.now])

describe('an occurrence of a job that is poked', () => {
  test('is decided and recorded when it is due, and not started', () => {
    const book = poked()
    expect(book.attendAt('2026-11-29T11:00:00Z')).toEqual([])
    expect(waiting(book)).toEqual([['11:00Z', 'queued', 60_000]])
    expect(book.aggregate().header.wakeAt).toBe(book.now + 60_000)
    expect(book.attend()).toEqual([])
  })

  test('starts once it is poked, whoever decided it first', () => {
    const book = poked()
    book.attendAt('2026-11-29T11:00:00Z')
    book.now += 200
    expect(poke(book)).toBe(true)
    expect(book.aggregate().header.wakeAt).toBe(book.now)
    expect(book.take()).toMatchObject({ key: '2026-11-29T11:00Z', cause: 'schedule', readyAt: 0 })

    const other = poked()
    other.now = Date.parse('2026-11-29T11:00:00Z')
    expect(poke(other)).toBe(true)
    expect(other.take()).toMatchObject({ key: '2026-11-29T11:00Z', cause: 'schedule', readyAt: 0 })
  })

  test('is started by the loop where no poke came in time, and shows it', () => {
    const book = poked()
    book.attendAt('2026-11-29T11:00:00Z')
    expect(book.attendAt('2026-11-29T11:00:59.999Z')).toEqual([])
    const [run] = book.attendAt('2026-11-29T11:01:00Z')
    expect(run).toMatchObject({ key: '2026-11-29T11:00Z', attempt: 1, readyAt: book.now })
  })

  test('has one run, however often, early or late pokes come', () => {
    const book = poked()
    book.now = Date.parse('2026-11-29T10:59:59Z')
    expect(poke(book)).toBe(false)
    book.attendAt('2026-11-29T11:00:00Z')
    expect([poke(book), poke(book), poke(book)]).toEqual([true, false, false])
    const run = book.take()
    expect(poke(book)).toBe(false)
    book.settle(run, { kind: 'returned', result: null })
    book.attend()
    expect(poke(book)).toBe(false)
    expect(book.lines()).toEqual(['2026-11-29T11:00Z succeeded schedule 2026-11-29T11:00Z..2026-11-29T11:00Z x1'])
  })

  test('waits no longer than half way to the next one', () => {
    const book = poked({ schedule: TERMS.schedule })
    book.attendAt('2026-11-29T10:31:00Z')
    expect(book.attendAt('2026-11-29T10:31:29.999Z')).toEqual([])
    const run = book.take({ now: Date.parse('2026-11-29T10:31:30Z') })
    expect(run.key).toBe('2026-11-29T10:31Z')
  })

  test('waits no more once a retry or a hand-back is due', () => {
    const book = poked({ retry: { limit: 1, delayMs: 0, factor: 1, maxDelayMs: 0 } })
    book.now = Date.parse('2026-11-29T11:00:00Z')
    poke(book)
    book.settle(book.take(), { kind: 'threw', error: { name: 'E', message: 'no', stack: null } })
    const again = book.take()
    expect(again.attempt).toBe(2)
    book.settle(again, { kind: 'handed-back', why: 'the node stops', called: true })
    expect(book.take().attempt).toBe(3)
  })
})

describe('what is not asked for by the schedule, or is late already,', () => {
  test('does not wait for a poke: manual runs, backfills, what is caught up with', () => {
    const book = poked({ concurrency: 3, catchUp: { policy: 'merge', withinMs: 86_400_000, most: 100 } })
    book.ask('trigger')
    book.ask('backfill', { from: book.now - 3_600_000, to: book.now })
    expect(book.attend().map(({ cause }) => cause)).toEqual(['backfill', 'manual'])
    expect(book.attendAt('2026-11-29T13:30:00Z').map(line)).toEqual([
      '2026-11-29T11:00Z running catch-up 2026-11-29T11:00Z..2026-11-29T13:00Z x3',
    ])
  })

  test('passes by who awaits a poke in the same lane', () => {
    const book = poked({ catchUp: { policy: 'merge', withinMs: null, most: 100 }, pokeGraceMs: 1_800_000, graceMs: 0 })
    book.attendAt('2026-11-29T11:00:01Z')
    expect(book.live().map(line)).toEqual(['2026-11-29T11:00Z queued catch-up 2026-11-29T11:00Z..2026-11-29T11:00Z x1'])
    book.ask('backfill', { from: book.now - 3_700_000, to: book.now - 3_000_000 })
    expect(book.take().cause).toBe('backfill')
  })
})

describe('a poke', () => {
  test('lets go what its overlap would have started: a skipped one stays skipped', () => {
    const book = poked({ schedule: TERMS.schedule })
    book.now = Date.parse('2026-11-29T10:31:00Z')
    poke(book)
    book.take()
    book.now += 60_000
    expect(poke(book)).toBe(true)
    expect(book.lines().at(-1)).toContain('2026-11-29T10:32Z skipped(overlap)')
    expect(poke(book)).toBe(false)
  })

  test('of a paused job starts nothing; what it let go begins after the pause', () => {
    const book = poked()
    book.attendAt('2026-11-29T11:00:00Z')
    book.ask('pause')
    expect(poke(book)).toBe(true)
    expect(book.attend()).toEqual([])
    expect(book.aggregate().header.wakeAt).toBeNull()
    book.ask('resume')
    expect(book.take().key).toBe('2026-11-29T11:00Z')
  })

  test('of a job that is not poked decides what is due, as any command', () => {
    const book = Book.defined('2026-11-29T10:30:00Z', { schedule: HOURLY })
    book.now = Date.parse('2026-11-29T11:00:00Z')
    expect([poke(book), poke(book)]).toEqual([true, false])
    expect(book.take().key).toBe('2026-11-29T11:00Z')
  })

  test('ends what was asked to stop', () => {
    const book = poked()
    book.attendAt('2026-11-29T11:00:00Z')
    book.ask('cancel', { run: book.row('2026-11-29T11:00Z') })
    expect(poke(book)).toBe(false)
    expect(book.row('2026-11-29T11:00Z')).toMatchObject({ state: 'cancelled', attempt: 0 })
  })
})

test('what awaits a poke when nobody is to poke the job any more starts at once', () => {
  const book = poked({ pokeGraceMs: 86_400_000 })
  book.attendAt('2026-11-29T11:00:00Z')
  book.now += 300_000
  expect(book.define('d2', { ...TERMS, schedule: HOURLY })).toBe(true)
  expect(book.aggregate().header.wakeAt).toBe(book.now)
  expect(book.take()).toMatchObject({ key: '2026-11-29T11:00Z', cause: 'schedule', readyAt: 0 })
})

test('a run that awaits a poke takes in the next occurrence, and waits no longer for it', () => {
  const book = poked({ schedule: TERMS.schedule, overlap: 'merge' })
  const held = book.ask('trigger')
  expect(held.outcome).toBe('change')
  book.take()
  book.attendAt('2026-11-29T10:31:00Z')
  book.attendAt('2026-11-29T10:32:00Z')
  expect(book.live().map(line)).toContain('2026-11-29T10:31Z queued schedule 2026-11-29T10:31Z..2026-11-29T10:32Z x2')
  expect(book.row('2026-11-29T10:31Z').readyAt).toBe(Date.parse('2026-11-29T10:31:30Z'))
})
