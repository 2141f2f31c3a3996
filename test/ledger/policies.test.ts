import { describe, expect, test } from 'vitest'
import type { CatchUp, Definition, Overlap, Run } from '../../src/ledger/types.js'
import { Book, line } from './book.js'
import { CATCH_UP, FOUND, type Found, FRESH, HOLDERS, type Holder, PASSED } from './policy-table.js'

const day = '2026-11-29'
const at = (time: string): number => Date.parse(`${day}T${time}Z`)
const k = (time: string): string => `${day}T${time}Z`
const one = (time: string, rest: string): string => `${k(time)} ${rest} ${k(time)}..${k(time)} x1`

/** The job's place is taken by a run of this kind, and the cursor stands at 10:05:10. */
function scene(holder: Holder, terms: Partial<Definition>): { book: Book; holder: Run | null } {
  const retry = { limit: 1, delayMs: 86_400_000, factor: 1, maxDelayMs: 86_400_000 }
  const book = Book.defined(`${day}T10:00:30Z`, { retry })
  if (holder === 'fresh' || holder === 'retrying') book.now = at('10:01:00')
  if (holder === 'catch-up') book.now = at('10:03:30')
  if (holder === 'manual') book.ask('trigger')
  if (holder === 'backfill') book.ask('backfill', { from: at('09:00:00'), to: at('09:00:00') })
  const held = holder === 'nobody' ? null : book.take()
  expect(held?.cause ?? 'nobody').toBe(holder === 'fresh' || holder === 'retrying' ? 'schedule' : holder)
  if (held !== null && holder === 'retrying') {
    book.settle(held, { kind: 'threw', error: { name: 'Error', message: 'no', stack: null } })
  }
  // What follows is decided as one would see it after a busy stretch: everything up to 10:05:10 is behind.
  const job = book.aggregate()
  const definition = { ...job.definition, ...terms }
  const cursor = { instant: at('10:05:10'), label: '' }
  book.job = { ...job, definition, header: { ...job.header, lastFate: null, cursor } }
  return { book, holder: held }
}

const SCENES = (Object.keys(HOLDERS) as Holder[]).flatMap((holder) =>
  (Object.keys(FOUND) as Found[]).map((found) => ({ holder, found })),
)
const POLICIES = (['merge', 'each', 'skip'] as const).flatMap((catchUp) =>
  (['skip', 'wait', 'merge', 'replace'] as const).map((overlap) => ({ overlap, catchUp })),
)

interface Case {
  readonly overlap: Overlap
  readonly catchUp: CatchUp['policy']
  readonly holder: Holder
  readonly found: Found
}

/** What the ledger makes of it. */
function comesOut(one: Case): { rows: string[]; holder: string } {
  const { graceMs, at: time } = FOUND[one.found]
  const { book, holder } = scene(one.holder, { overlap: one.overlap, catchUp: CATCH_UP[one.catchUp], graceMs })
  const before = book.rows.size
  book.now = at(time)
  book.attend({ room: 1 })
  const made = [...book.rows.values()].slice(before).sort((a, b) => a.scheduledAt - b.scheduledAt)
  return { rows: made.map(line), holder: holder === null ? 'goes on' : fateOf(book.row(holder.key)) }
}

function fateOf({ state, reason, stop }: Run): string {
  if (state === 'cancelled' && reason === 'replaced') return 'is cancelled, replaced'
  return stop === null ? 'goes on' : 'is asked to stop'
}

/** The rows that come out, put together from the table, and what becomes of the holder. */
function expected({ overlap, catchUp, holder, found }: Case): { rows: string[]; holder: string } {
  const { rows, joined } = PASSED[catchUp][found]
  const { fresh } = FOUND[found]
  const fate = fresh === null || joined ? null : FRESH[holder][overlap]
  const isOpen = holder === 'nobody' || fate?.holder === 'is cancelled, replaced'
  let granted = false
  const state = (): string => {
    if (!isOpen || granted) return 'queued'
    granted = true
    return 'running'
  }
  const passed = rows.map((row) => {
    const [, from = '', to = '', count, what = ''] = /^(\S+)\.\.(\S+) x(\d+) (.+)$/.exec(row) ?? []
    const words = what === 'catch-up' ? `${state()} catch-up` : `${what} schedule`
    return `${k(from)} ${words} ${k(from)}..${k(to)} x${count}`
  })
  if (fresh === null || fate === null) return { rows: passed, holder: 'goes on' }
  const word = fate.row === 'skipped(overlap)' ? fate.row : state()
  return { rows: [...passed, one(fresh, `${word} schedule`)], holder: fate.holder }
}

describe('overlap × catch-up × what is found', () => {
  test.each(SCENES)('place held by $holder, found: $found', (scene) => {
    for (const policies of POLICIES) {
      const one = { ...scene, ...policies }
      expect({ ...policies, ...comesOut(one) }).toEqual({ ...policies, ...expected(one) })
    }
  })
})

describe('a row of occurrences', () => {
  test('skipped ones in a row extend one row; a run in between begins another', () => {
    const book = Book.defined(`${day}T10:00:30Z`)
    const run = step(book, '10:01:00')
    for (const minute of ['10:02:00', '10:03:00', '10:04:00']) book.attendAt(k(minute))
    const skipped = book.row(k('10:02'))
    expect(book.lines()).toEqual([
      one('10:01', 'running schedule'),
      `${k('10:02')} skipped(overlap) schedule ${k('10:02')}..${k('10:04')} x3`,
    ])
    expect(skipped).toMatchObject({ scheduledAt: at('10:04:00'), createdAt: at('10:02:00'), endedAt: at('10:04:00') })
    book.settle(run, { kind: 'returned', result: null })
    step(book, '10:05:00')
    book.attendAt(k('10:06:00'))
    expect(book.lines().slice(1)).toEqual([
      `${k('10:02')} skipped(overlap) schedule ${k('10:02')}..${k('10:04')} x3`,
      one('10:05', 'running schedule'),
      one('10:06', 'skipped(overlap) schedule'),
    ])
  })

  test('another fate or reason begins another row', () => {
    const book = Book.defined(`${day}T10:00:30Z`, { catchUp: CATCH_UP.skip })
    step(book, '10:01:00')
    book.attendAt(k('10:04:05'))
    book.attendAt(k('10:05:05'))
    book.now = at('10:05:10')
    book.ask('pause')
    book.now = at('10:06:10')
    book.ask('resume')
    expect(book.lines().slice(1)).toEqual([
      `${k('10:02')} missed(policy) schedule ${k('10:02')}..${k('10:03')} x2`,
      `${k('10:04')} skipped(overlap) schedule ${k('10:04')}..${k('10:05')} x2`,
      one('10:06', 'missed(paused) schedule'),
    ])
  })

  test('one row is extended for half a day at most, and a manual run in between does not end it', () => {
    const book = Book.defined(`${day}T00:00:30Z`, { queue: 5 })
    step(book, '00:01:00')
    book.attendAt(k('00:02:00'))
    book.ask('trigger')
    book.attendAt(k('12:01:59'))
    expect(book.lines().slice(1)).toEqual([
      one('00:02', 'skipped(overlap) schedule'),
      'manual:r1 queued manual',
      `${k('00:03')} missed(too-old) schedule ${k('00:03')}..${k('11:01')} x659`,
      `${k('11:02')} queued catch-up ${k('11:02')}..${k('12:01')} x60`,
    ])
    const paused = Book.defined(`${day}T00:00:30Z`)
    paused.ask('pause')
    for (const time of ['00:01:00', '06:00:00', '12:00:59', '12:01:00', '12:02:00']) {
      paused.now = at(time)
      paused.ask('trigger')
    }
    expect(paused.lines().filter((row) => row.includes('missed'))).toEqual([
      `${k('00:01')} missed(paused) schedule ${k('00:01')}..${k('12:00')} x720`,
      `${k('12:01')} missed(paused) schedule ${k('12:01')}..${k('12:02')} x2`,
    ])
  })

  test('overlap merge: one waiting run absorbs what follows, is dated by the newest, and is frozen at its grant', () => {
    const book = Book.defined(`${day}T10:00:30Z`, { overlap: 'merge' })
    const first = step(book, '10:01:00')
    for (const minute of ['10:02:00', '10:03:00', '10:04:00']) book.attendAt(k(minute))
    const waiting = book.row(k('10:02'))
    expect(line(waiting)).toBe(`${k('10:02')} queued schedule ${k('10:02')}..${k('10:04')} x3`)
    expect(waiting.scheduledAt).toBe(at('10:04:00'))
    book.settle(first, { kind: 'returned', result: null })
    const second = step(book, '10:04:30')
    expect(second.key).toBe(k('10:02'))
    expect(second.since).toBe(at('10:01:00'))
    book.attendAt(k('10:05:00'))
    expect(book.row(k('10:02')).covers?.to).toBe(k('10:04'))
    expect(book.row(k('10:05'))).toMatchObject({ state: 'queued', position: second.position + 1 })
  })

  test('queue: one more than may wait is skipped with that reason', () => {
    const book = Book.defined(`${day}T10:00:30Z`, { overlap: 'wait', queue: 2 })
    for (const minute of ['10:01:00', '10:02:00', '10:03:00', '10:04:00']) book.attendAt(k(minute))
    expect(book.row(k('10:04'))).toMatchObject({ state: 'skipped', reason: 'queue-full' })
    expect(book.row(k('10:03'))).toMatchObject({ state: 'queued', reason: null })
  })
})

/** Attends, and takes the run that is granted. */
function step(book: Book, time: string): Run {
  book.now = at(time)
  return book.take()
}
