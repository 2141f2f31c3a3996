import { describe, expect, test } from 'vitest'
import type { Definition } from '../../src/ledger/types.js'
import { Book } from './book.js'

const at = (time: string): number => Date.parse(`2026-11-29T${time}Z`)
const failed = { kind: 'threw', error: { name: 'E', message: 'no', stack: null } } as const
const returned = { kind: 'returned', result: null } as const

function job(terms: Partial<Definition> = {}): Book {
  return Book.defined('2026-11-29T10:00:30Z', terms)
}

describe('pause', () => {
  test('nothing of the schedule starts, and nothing wakes the job', () => {
    const book = job()
    expect(book.ask('pause', { id: 'p' }).outcome).toBe('change')
    expect(book.aggregate().header).toMatchObject({
      pause: { since: book.now, until: null, by: 'me', why: 'a test' },
      wakeAt: null,
    })
    expect(book.events.at(-1)).toMatchObject({ id: 'p', kind: 'paused', by: 'me', data: '{"until":null}' })
    expect(book.attendAt('2026-11-29T10:30:00Z')).toEqual([])
    expect(book.ask('pause')).toEqual({ outcome: 'unchanged' })
  })

  test('manual runs start, what was begun goes on, what waits waits', () => {
    const book = job({
      overlap: 'wait',
      concurrency: 2,
      retry: { limit: 1, delayMs: 1_000, factor: 1, maxDelayMs: 1_000 },
    })
    const [run] = book.attendAt('2026-11-29T10:01:00Z')
    book.attendAt('2026-11-29T10:02:00Z')
    book.attendAt('2026-11-29T10:03:00Z')
    book.ask('pause')
    expect(book.aggregate().header.wakeAt).toBeNull()
    book.settle(book.row(run?.key ?? ''), failed)
    book.now = at('10:03:10')
    expect(book.take()).toMatchObject({ key: run?.key, attempt: 2 })
    book.settle(book.row(run?.key ?? ''), returned)
    expect(book.attend()).toEqual([])
    expect(book.aggregate().header.wakeAt).toBeNull()
    book.ask('trigger', { id: 'm' })
    expect(book.aggregate().header.wakeAt).toBe(book.now)
    expect(book.take().key).toBe('manual:m')
    expect(book.row('2026-11-29T10:03Z').state).toBe('queued')
    book.settle(book.row('manual:m'), returned)
    book.now = at('10:03:20')
    book.ask('resume')
    expect(book.aggregate().header.wakeAt).toBeLessThanOrEqual(book.now)
    expect(book.take().key).toBe('2026-11-29T10:03Z')
  })

  test('until: ends by itself, and what is due after it is decided as ever', () => {
    const book = job()
    book.ask('pause', { until: at('10:04:30') })
    expect(book.aggregate().header.wakeAt).toBe(at('10:04:30'))
    expect(book.attendAt('2026-11-29T10:04:29Z')).toEqual([])
    expect(book.aggregate().header.pause).not.toBeNull()
    expect(book.attendAt('2026-11-29T10:05:00Z').map(({ key }) => key)).toEqual(['2026-11-29T10:05Z'])
    expect(book.lines()[0]).toBe('2026-11-29T10:01Z missed(paused) schedule 2026-11-29T10:01Z..2026-11-29T10:04Z x4')
    expect(book.aggregate().header.pause).toBeNull()
    expect(book.events.at(-1)).toMatchObject({ kind: 'resumed', by: 'fleetcron', why: 'the pause ended' })
  })

  test('an occurrence at the very end of it is missed, one after it is not; what passed since is catch-up', () => {
    const book = job()
    book.ask('pause', { until: at('10:02:00') })
    book.attendAt('2026-11-29T10:05:05Z')
    expect(book.lines()).toEqual([
      '2026-11-29T10:01Z missed(paused) schedule 2026-11-29T10:01Z..2026-11-29T10:02Z x2',
      '2026-11-29T10:03Z running catch-up 2026-11-29T10:03Z..2026-11-29T10:05Z x3',
    ])
  })

  test('of a job without a schedule ends too, and wakes it', () => {
    const book = job({ schedule: null })
    book.ask('pause', { until: at('10:10:00') })
    expect(book.aggregate().header.wakeAt).toBe(at('10:10:00'))
    book.attendAt('2026-11-29T10:10:00Z')
    expect(book.aggregate().header).toMatchObject({ pause: null, wakeAt: null })
  })

  test('to an instant that has passed is refused; another end changes it and keeps its beginning', () => {
    const book = job()
    expect(book.ask('pause', { until: book.now })).toMatchObject({ outcome: 'refused', code: 'OPTION_INVALID' })
    book.ask('pause', { until: at('11:00:00') })
    const since = book.now
    book.now += 10_000
    expect(book.ask('pause', { until: at('12:00:00') }).outcome).toBe('change')
    expect(book.aggregate().header.pause).toMatchObject({ since, until: at('12:00:00') })
  })

  test('is not lost by a new definition', () => {
    const book = job()
    book.ask('pause')
    book.now = at('10:03:00')
    book.define('d2', { ...book.aggregate().definition, recover: 9 })
    expect(book.aggregate().header.pause).not.toBeNull()
    expect(book.lines()).toEqual(['2026-11-29T10:01Z missed(paused) schedule 2026-11-29T10:01Z..2026-11-29T10:03Z x3'])
  })
})

describe('resume', () => {
  test('of a job that is not paused changes nothing', () => {
    expect(job().ask('resume')).toEqual({ outcome: 'unchanged' })
  })

  test('of a job whose pause has just run out is written all the same', () => {
    const book = job()
    book.ask('pause', { until: at('10:02:00') })
    book.now = at('10:02:30')
    expect(book.ask('resume', { id: 'r' }).outcome).toBe('change')
    expect(book.aggregate().header.pause).toBeNull()
    expect(book.events.at(-1)).toMatchObject({ id: 'r', kind: 'resumed' })
  })

  test('says who, and forgets the failures', () => {
    const book = job({ pauseAfter: 3 })
    book.settle(book.attendAt('2026-11-29T10:01:00Z')[0] ?? book.row(''), failed)
    book.ask('pause')
    book.ask('resume', { id: 'r' })
    expect(book.aggregate().tally.failures).toBe(0)
    expect(book.events.at(-1)).toMatchObject({ id: 'r', kind: 'resumed', by: 'me', why: 'a test' })
  })
})

describe('pauseAfter', () => {
  function failing(pauseAfter: number): Book {
    const book = job({ pauseAfter })
    for (let i = 1; i <= pauseAfter; i += 1) {
      book.settle(book.attendAt(`2026-11-29T10:0${i}:00Z`)[0] ?? book.row(''), failed)
    }
    return book
  }

  test('so many failures in a row pause the job, and the next occurrence is missed', () => {
    const book = failing(2)
    expect(book.aggregate().header.pause).toBeNull()
    expect(book.attendAt('2026-11-29T10:03:00Z')).toEqual([])
    expect(book.aggregate().header.pause).toEqual({
      since: at('10:03:00'),
      until: null,
      by: 'fleetcron',
      why: '2 failures in a row (pauseAfter: 2); resume the job when its cause is mended',
    })
    expect(book.row('2026-11-29T10:03Z')).toMatchObject({ state: 'missed', reason: 'paused' })
    expect(book.events.at(-1)).toMatchObject({ kind: 'paused', by: 'fleetcron' })
    const count = book.events.length
    book.attendAt('2026-11-29T10:04:00Z')
    expect(book.events).toHaveLength(count)
  })

  test('whoever asks for a pause before it is written pauses the job', () => {
    const book = failing(2)
    expect(book.ask('pause', { id: 'p' }).outcome).toBe('change')
    expect(book.aggregate().header.pause).toMatchObject({ until: null })
    expect(book.events.at(-1)).toMatchObject({ id: 'p', kind: 'paused', by: 'me' })
  })

  test('a success in between begins the count anew, one failure less does not pause', () => {
    const book = job({ pauseAfter: 2 })
    for (const [minute, outcome] of [failed, returned, failed].entries()) {
      book.settle(book.attendAt(`2026-11-29T10:0${minute + 1}:00Z`)[0] ?? book.row(''), outcome)
    }
    expect(book.attendAt('2026-11-29T10:04:00Z')).toHaveLength(1)
  })

  test('a run given up after lost nodes counts at once: what waits for its place is not started', () => {
    const book = job({ pauseAfter: 2, recover: 0, overlap: 'wait' })
    book.settle(book.attendAt('2026-11-29T10:01:00Z')[0] ?? book.row(''), failed)
    book.attendAt('2026-11-29T10:02:00Z')
    book.attendAt('2026-11-29T10:03:00Z')
    expect(book.attend({ session: 's2', ended: book.ended('s1') })).toEqual([])
    expect(book.row('2026-11-29T10:02Z')).toMatchObject({ state: 'failed', reason: 'lost' })
    expect(book.row('2026-11-29T10:03Z').state).toBe('queued')
    expect(book.aggregate()).toMatchObject({ header: { pause: { by: 'fleetcron' } }, tally: { failures: 2 } })
    expect(book.attendAt('2026-11-29T10:04:00Z')).toEqual([])
  })

  test('resume starts it again; a timed pause in place of it does so too', () => {
    const book = failing(2)
    book.now = at('10:03:10')
    book.ask('resume')
    expect(book.aggregate().header.pause).toBeNull()
    expect(book.attendAt('2026-11-29T10:04:00Z')).toHaveLength(1)
    const timed = failing(2)
    timed.attendAt('2026-11-29T10:03:00Z')
    timed.ask('pause', { until: at('10:03:30') })
    expect(timed.attendAt('2026-11-29T10:04:00Z')).toHaveLength(1)
    expect(timed.aggregate().tally.failures).toBe(0)
    expect(timed.attendAt('2026-11-29T10:05:00Z')).toEqual([])
    expect(timed.aggregate().header.pause).toBeNull()
  })
})

describe('retire', () => {
  test('what waits is cancelled, who works is asked to stop, nothing is due any more', () => {
    const book = job({ overlap: 'wait', retry: { limit: 1, delayMs: 1_000, factor: 1, maxDelayMs: 1_000 } })
    const [run] = book.attendAt('2026-11-29T10:01:00Z')
    book.attendAt('2026-11-29T10:02:00Z')
    book.ask('trigger', { id: 'm' })
    book.now = at('10:03:00')
    expect(book.ask('retire', { id: 'x' }).outcome).toBe('change')
    expect(book.lines()).toEqual([
      '2026-11-29T10:01Z running schedule 2026-11-29T10:01Z..2026-11-29T10:01Z x1',
      '2026-11-29T10:02Z cancelled(retired) schedule 2026-11-29T10:02Z..2026-11-29T10:02Z x1',
      'manual:m cancelled(retired) manual',
      '2026-11-29T10:03Z cancelled(retired) schedule 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
    ])
    expect(book.row('2026-11-29T10:01Z').stop).toEqual({ kind: 'cancel', at: book.now, by: 'me', why: 'a test' })
    expect(book.aggregate().header).toMatchObject({
      retired: true,
      wakeAt: null,
      waiting: { schedule: 0, manual: 0, backlog: 0 },
    })
    expect(book.events.at(-1)).toMatchObject({ id: 'x', kind: 'retired' })
    expect(book.ask('retire')).toEqual({ outcome: 'unchanged' })
    expect(book.ask('trigger')).toMatchObject({
      code: 'STATE_CONFLICT',
      message: 'svc:job is retired: define it again before you start it',
    })
    book.settle(run ?? book.row(''), failed)
    expect(book.attendAt('2026-11-29T10:10:00Z')).toEqual([])
    expect(book.row('2026-11-29T10:01Z')).toMatchObject({ state: 'cancelled', reason: 'cancelled' })
    expect(book.aggregate().header.wakeAt).toBeNull()
    expect(book.live()).toEqual([])
  })

  test('a run handed back, or lost, is not started again', () => {
    const book = job()
    const [run] = book.attendAt('2026-11-29T10:01:00Z')
    book.ask('retire')
    book.settle(run ?? book.row(''), { kind: 'handed-back', why: 'the node stops', called: true })
    expect(book.attend({ session: 's2' })).toEqual([])
    expect(book.row('2026-11-29T10:01Z').state).toBe('cancelled')
    const lost = job()
    lost.attendAt('2026-11-29T10:01:00Z')
    lost.ask('retire')
    expect(lost.attend({ session: 's2', ended: lost.ended('s1') })).toEqual([])
    expect(lost.row('2026-11-29T10:01Z')).toMatchObject({ state: 'cancelled', reason: 'cancelled' })
  })

  test('more than is loaded at once is cancelled step by step, and the job is due until it is done', () => {
    const book = job({ queue: 500 })
    for (let i = 0; i < 250; i += 1) book.ask('trigger', { id: `${i}` })
    book.ask('retire')
    expect(book.aggregate().header).toMatchObject({ waiting: { manual: 150 }, wakeAt: expect.any(Number) })
    const steps: (number | null)[] = []
    for (let turn = 0; turn < 50 && book.live().length > 0; turn += 1) {
      book.now += 1_000
      expect(book.attend()).toEqual([])
      steps.push(book.aggregate().header.waiting.manual)
    }
    expect(steps).toEqual([50, 0])
    expect(book.aggregate().header.wakeAt).toBeNull()
  })

  test('ends no pause, and a timed one ends without anything becoming due', () => {
    const book = job()
    book.ask('pause', { until: at('10:05:00') })
    book.ask('retire')
    expect(book.attendAt('2026-11-29T10:06:00Z')).toEqual([])
    expect(book.aggregate().header.pause).toBeNull()
    expect(book.rows.size).toBe(0)
  })
})
