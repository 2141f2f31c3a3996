import { describe, expect, test } from 'vitest'
import { manualKey, trigger } from '../../src/ledger/index.js'
import type { Definition, Run } from '../../src/ledger/types.js'
import { Book } from './book.js'

const KEY = '2026-11-29T10:01Z'
const at = (time: string): number => Date.parse(`2026-11-29T${time}Z`)

function job(terms: Partial<Definition> = {}): Book {
  return Book.defined('2026-11-29T10:00:30Z', terms)
}

function running(terms: Partial<Definition> = {}): { book: Book; run: Run } {
  const book = job(terms)
  book.now = at('10:01:00')
  return { book, run: book.take() }
}

describe('every command first decides what is due, under the terms in force', () => {
  const commands = ['trigger', 'pause', 'retire', 'backfill'] as const
  test.each(commands)('%s', (what) => {
    const book = job()
    book.now = at('10:02:05')
    expect(book.ask(what, { id: 'x', to: at('09:00:00'), from: at('09:00:00') }).outcome).toBe('change')
    expect(book.rows.get(KEY)).toMatchObject({ covers: { from: KEY, to: '2026-11-29T10:02Z', count: 2 } })
    expect(book.aggregate().header.cursor.instant).toBe(at('10:02:05'))
  })

  test.each(['cancel', 'retry'] as const)('%s', (what) => {
    const { book, run } = running({ overlap: 'wait' })
    if (what === 'retry') book.settle(run, { kind: 'threw', error: { name: 'E', message: 'no', stack: null } })
    book.now = at('10:02:05')
    expect(book.ask(what, { run: book.row(KEY) }).outcome).toBe('change')
    expect(book.row('2026-11-29T10:02Z').state).toBe('queued')
  })

  test('resume: what passed in the pause is missed, in one row', () => {
    const book = job()
    book.ask('pause')
    book.now = at('10:05:10')
    expect(book.ask('resume').outcome).toBe('change')
    expect(book.lines()).toEqual([`${KEY} missed(paused) schedule ${KEY}..2026-11-29T10:05Z x5`])
    expect(book.attend()).toEqual([])
  })
})

describe('S14 trigger', () => {
  test('makes a run of its own, which neither consumes nor is an occurrence', () => {
    const { book } = running({ overlap: 'wait' })
    book.ask('trigger', { id: 'a', data: '{"n":1}' })
    expect(book.row(manualKey('a'))).toMatchObject({
      key: 'manual:a',
      cause: 'manual',
      lane: 'manual',
      covers: null,
      data: '{"n":1}',
      date: '2026-11-29',
      scheduledAt: at('10:01:00'),
      retryOf: null,
    })
    expect(book.events.at(-1)).toMatchObject({
      id: 'a',
      kind: 'triggered',
      by: 'me',
      why: 'a test',
      data: '{"key":"manual:a"}',
    })
    book.attendAt('2026-11-29T10:02:00Z')
    expect(book.row('2026-11-29T10:02Z').state).toBe('queued')
  })

  test('its date is the job’s, by its zone', () => {
    for (const [timeZone, date] of [
      ['Tokyo', '2026-11-30'],
      ['New York', '2026-11-29'],
    ] as const) {
      const book = Book.defined('2026-11-29T16:00Z', { schedule: { cron: '0 0 * * *', timeZone, dstGap: 'next' } })
      book.ask('trigger', { id: 'a' })
      expect(book.row('manual:a').date).toBe(date)
    }
    const without = Book.defined('2026-11-29T16:00:31.007Z', { schedule: null })
    without.ask('trigger', { id: 'a' })
    expect(without.row('manual:a').date).toBe('2026-11-29')
    expect(without.aggregate().header.wakeAt).toBe(without.now)
  })

  test('a request that was carried out before changes nothing', () => {
    const book = job()
    book.ask('trigger', { id: 'a', data: '1' })
    const request = { id: 'a', by: 'me', why: null }
    for (const taken of ['a', 'manual:a']) {
      const ctx = { ...book.ctx(), taken: new Set([taken]) }
      expect(trigger(book.aggregate(), { request, data: '1' }, ctx)).toEqual({ outcome: 'unchanged' })
    }
    expect(book.rows.size).toBe(1)
  })

  test('is refused where as many wait as may, beside the open places', () => {
    const { book } = running({ queue: 2 })
    expect(['a', 'b', 'c'].map((id) => book.ask('trigger', { id }).outcome)).toEqual(['change', 'change', 'refused'])
    expect(book.ask('trigger', { id: 'c' })).toEqual({
      outcome: 'refused',
      code: 'QUEUE_FULL',
      message: '2 manual runs of svc:job wait already (queue: 2): try again later or raise queue',
    })
    const idle = job({ queue: 0, concurrency: 2 })
    expect(['a', 'b', 'c'].map((id) => idle.ask('trigger', { id }).outcome)).toEqual(['change', 'change', 'refused'])
    const less = running({ queue: 1, concurrency: 3 }).book
    less.ask('trigger', { id: 'a' })
    less.attend()
    less.define('d2', { ...less.aggregate().definition, concurrency: 1 })
    expect(['b', 'c'].map((id) => less.ask('trigger', { id }).outcome)).toEqual(['change', 'refused'])
  })

  test('data that is too large is refused, an id that cannot be kept too', () => {
    const book = job()
    const long = `"${'x'.repeat(65_535)}"`
    expect(book.ask('trigger', { id: 'a', data: long })).toMatchObject({
      code: 'OPTION_INVALID',
      message:
        'the data for svc:job has 65537 characters as JSON, more than 65536: hand over a reference, such as an id',
    })
    expect(book.ask('trigger', { id: 'a', data: long.slice(1) }).outcome).toBe('change')
    for (const id of ['x'.repeat(201), 'a\u0000b', '\ud800']) {
      expect(book.ask('trigger', { id })).toMatchObject({ outcome: 'refused', code: 'OPTION_INVALID' })
      expect(book.ask('pause', { id })).toMatchObject({ outcome: 'refused', code: 'OPTION_INVALID' })
    }
    expect(book.ask('trigger', { id: 'x'.repeat(200) }).outcome).toBe('change')
  })
})

describe('retry', () => {
  const failed = { kind: 'threw', error: { name: 'E', message: 'no', stack: null } } as const

  test('runs the work again as a manual run with the same occurrences, date and data', () => {
    const { book, run } = running()
    book.settle(run, failed)
    book.ask('retry', { id: 'again', run: book.row(KEY) })
    const again = book.row('manual:again')
    expect(again).toMatchObject({ cause: 'manual', covers: run.covers, scheduledAt: run.scheduledAt, date: run.date })
    expect(again).toMatchObject({ retryOf: KEY, data: null, attempt: 0 })
    expect(book.events.at(-1)).toMatchObject({
      id: 'again',
      kind: 'retried',
      data: `{"key":"manual:again","retryOf":"${KEY}"}`,
    })
    expect(book.row(KEY).state).toBe('failed')
  })

  test('also of what was skipped, missed or cancelled, and of a manual run', () => {
    const { book, run } = running()
    book.attendAt('2026-11-29T10:02:00Z')
    book.ask('cancel', { run })
    book.settle(run, { kind: 'cancelled', why: 'cancel' })
    book.ask('trigger', { id: 'm', data: '[1]' })
    book.settle(book.take(), failed)
    for (const key of [KEY, '2026-11-29T10:02Z', 'manual:m']) {
      expect(book.ask('retry', { id: `again ${key}`, run: book.row(key) }).outcome).toBe('change')
    }
    expect(book.row('manual:again manual:m').data).toBe('[1]')
  })

  test('is refused of what lives or has succeeded, by a retired job and a full queue; a resend changes nothing', () => {
    const { book, run } = running({ queue: 0 })
    const conflict = { outcome: 'refused', code: 'STATE_CONFLICT' }
    expect(book.ask('retry', { run })).toEqual({
      ...conflict,
      message: `run ${KEY} of svc:job is running: only what ended without success can be retried`,
    })
    expect(book.ask('retry', { run: { ...run, state: 'queued' } })).toMatchObject(conflict)
    book.settle(run, { kind: 'returned', result: null })
    expect(book.ask('retry', { run: book.row(KEY) })).toMatchObject(conflict)
    const missed: Run = { ...run, state: 'missed' }
    expect(book.ask('retry', { id: 'q', run: missed }).outcome).toBe('change')
    expect(book.ask('retry', { run: missed })).toMatchObject({ code: 'QUEUE_FULL' })
    book.ask('retire')
    expect(book.ask('retry', { run: missed })).toMatchObject(conflict)
  })
})

describe('backfill', () => {
  test('makes one run for each occurrence from and to, both included', () => {
    const book = job()
    book.ask('backfill', { id: 'b', from: at('09:58:00'), to: at('10:00:00') })
    expect(book.lines()).toEqual(
      ['09:58', '09:59', '10:00'].map(
        (time) => `backfill:b:2026-11-29T${time}Z queued backfill 2026-11-29T${time}Z..2026-11-29T${time}Z x1`,
      ),
    )
    expect(book.row('backfill:b:2026-11-29T09:58Z')).toMatchObject({
      scheduledAt: at('09:58:00'),
      date: '2026-11-29',
      lane: 'backlog',
    })
    expect(book.events.at(-1)).toMatchObject({
      id: 'b',
      kind: 'backfilled',
      data: `{"from":${at('09:58:00')},"to":${at('10:00:00')},"count":3}`,
    })
  })

  test('neither consumes an occurrence nor ends a row that is extended', () => {
    const { book } = running()
    book.attendAt('2026-11-29T10:02:00Z')
    book.ask('backfill', { from: at('10:01:00'), to: at('10:02:00') })
    book.attendAt('2026-11-29T10:03:00Z')
    expect(book.row('2026-11-29T10:02Z').covers?.count).toBe(2)
  })

  test('is refused in the future, for nothing, for too much, without a schedule and when retired', () => {
    const book = job()
    const ask = (from: number, to: number) => book.ask('backfill', { from, to })
    expect(ask(book.now, book.now + 1)).toMatchObject({ code: 'OPTION_INVALID' })
    expect(ask(book.now, book.now + 1)).toMatchObject({ message: expect.stringContaining('ends in the future') })
    expect(ask(at('09:00:01'), at('09:00:59'))).toMatchObject({ message: expect.stringContaining('no occurrence') })
    expect(ask(at('09:00:00'), at('08:00:00'))).toMatchObject({ code: 'OPTION_INVALID' })
    const minutes = (count: number) => ask(at('09:00:00') - (count - 1) * 60_000, at('09:00:00'))
    expect(minutes(1_001)).toMatchObject({
      code: 'OPTION_INVALID',
      message: 'a backfill of svc:job asks for 1001 occurrences: at most 1000 at once',
    })
    expect(minutes(1_000).outcome).toBe('change')
    expect(book.rows.size).toBe(1_000)
    expect(book.ask('retire').outcome).toBe('change')
    expect(minutes(1)).toMatchObject({ code: 'STATE_CONFLICT', message: expect.stringContaining('is retired') })
    const without = Book.defined('2026-11-29T10:00Z', { schedule: null })
    expect(without.ask('backfill')).toMatchObject({ code: 'STATE_CONFLICT' })
  })

  test('up to now is not the future', () => {
    const book = Book.defined('2026-11-29T10:00:00Z')
    expect(book.ask('backfill', { from: book.now, to: book.now }).outcome).toBe('change')
  })
})
