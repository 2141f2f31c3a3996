import { describe, expect, test } from 'vitest'
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

describe('cancel', () => {
  test('what waits ends at once, what runs is asked to stop, and asking twice changes nothing', () => {
    const { book, run } = running({ overlap: 'wait' })
    book.attendAt('2026-11-29T10:02:00Z')
    const waiting = book.row('2026-11-29T10:02Z')
    expect(book.ask('cancel', { id: 'c', run: waiting }).outcome).toBe('change')
    expect(book.row(waiting.key)).toMatchObject({
      state: 'cancelled',
      reason: 'cancelled',
      endedAt: book.now,
      stop: { kind: 'cancel', at: book.now, by: 'me', why: 'a test' },
    })
    expect(book.events.at(-1)).toMatchObject({ id: 'c', kind: 'cancelled', data: `{"key":"${waiting.key}"}` })
    expect(book.aggregate().header.waiting.schedule).toBe(0)
    expect(book.ask('cancel', { run: book.row(waiting.key) })).toEqual({ outcome: 'unchanged' })
    expect(book.ask('cancel', { run }).outcome).toBe('change')
    expect(book.row(KEY)).toMatchObject({ state: 'running', stop: { kind: 'cancel' } })
    expect(book.ask('cancel', { run: book.row(KEY) })).toEqual({ outcome: 'unchanged' })
    book.settle(run, { kind: 'cancelled', why: 'cancel' })
    expect(book.row(KEY)).toMatchObject({ state: 'cancelled', reason: 'cancelled' })
  })

  test('what awaits its retry ends at once, and its place is free', () => {
    const { book, run } = running({ retry: { limit: 1, delayMs: 60_000, factor: 1, maxDelayMs: 60_000 } })
    book.settle(run, { kind: 'threw', error: { name: 'E', message: 'no', stack: null } })
    book.ask('cancel', { run: book.row(KEY) })
    expect(book.row(KEY)).toMatchObject({ state: 'cancelled', place: false })
    expect(book.attendAt('2026-11-29T10:02:00Z')).toHaveLength(1)
  })

  test('is refused for what has ended, also when it ends by what this command finds due', () => {
    const { book, run } = running({ overlap: 'replace' })
    book.attendAt('2026-11-29T10:02:00Z')
    const waiting = book.row('2026-11-29T10:02Z')
    book.now = at('10:03:00')
    expect(book.ask('cancel', { run: waiting })).toEqual({
      outcome: 'refused',
      code: 'STATE_CONFLICT',
      message: 'run 2026-11-29T10:02Z of svc:job has ended as skipped: it cannot be cancelled any more',
    })
    expect(book.aggregate().header.waiting.schedule).toBe(1)
    book.settle(run, { kind: 'returned', result: null })
    expect(book.ask('cancel', { run: book.row(KEY) })).toMatchObject({ code: 'STATE_CONFLICT' })
  })

  test('reaches a run outside the window', () => {
    const book = job({ queue: 200 })
    for (let i = 0; i < 150; i += 1) book.ask('trigger', { id: `${i}` })
    expect(book.aggregate().runs.some(({ key }) => key === 'manual:140')).toBe(false)
    book.ask('cancel', { id: 'c', run: book.row('manual:140') })
    expect(book.row('manual:140').state).toBe('cancelled')
    expect(book.aggregate().header.waiting.manual).toBe(149)
  })
})
