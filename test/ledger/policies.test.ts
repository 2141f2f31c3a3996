import { describe, expect, test } from 'vitest'
import { manualKey, trigger } from '../../src/ledger/index.js'
import type { CatchUp, Definition, Overlap, Run } from '../../src/ledger/types.js'
import { Book, line } from './book.js'

/**
 * The table of overlap × catch-up × what is found. Each case is a scene (what holds the place, when the job is attended)
 * and the rows that come out. A minute job in UTC, one place, defined at 10:00:30; `at` is when it is attended next.
 */
const day = '2026-11-29'
const at = (time: string): number => Date.parse(`${day}T${time}Z`)
const label = (time: string): string => `${day}T${time}Z`

type Holder = 'nobody' | 'fresh' | 'manual' | 'catch-up'

/** The job's place is taken by a run of this kind, and the cursor stands at 10:05:10. */
function scene(holder: Holder, terms: Partial<Definition>): { book: Book; holder: Run | null } {
  const book = Book.defined(`${day}T10:00:30Z`, {
    schedule: { cron: '* * * * *', timeZone: 'UTC', dstGap: 'next' },
    ...terms,
  })
  if (holder === 'fresh') book.now = at('10:01:00')
  if (holder === 'catch-up') book.now = at('10:03:30')
  if (holder === 'manual') {
    book.command((job, ctx) => trigger(job, { request: { id: 'm', by: 'me', why: null }, data: null }, ctx))
  }
  const taken = holder === 'nobody' ? [] : book.attend({ room: 1 })
  const [held] = taken
  // What follows is decided as one would see it after a busy stretch: everything up to 10:05:10 is behind.
  const job = book.aggregate()
  book.job = {
    ...job,
    header: { ...job.header, lastFate: null, cursor: { instant: at('10:05:10'), label: `${day}T10:05:10` } },
  }
  return { book, holder: held ?? null }
}

const merge: CatchUp = { policy: 'merge', withinMs: null, most: 100 }
const each: CatchUp = { policy: 'each', withinMs: 3_600_000, most: 3 }
const skip: CatchUp = { policy: 'skip', withinMs: null, most: 100 }

interface Case {
  overlap: Overlap
  catchUp: CatchUp
  holder: Holder
  found: string
  rows: string[]
}

const k = label
const one = (time: string, rest: string): string => `${k(time)} ${rest} ${k(time)}..${k(time)} x1`
/** Found at 10:06:05: one fresh. At 10:10:05: 10:06 to 10:09 are catch-up, 10:10 is fresh. At 13:10:30 + 2 h: old ones too. */
const CASES: Case[] = [
  ...(['skip', 'wait', 'merge', 'replace'] as const).flatMap((overlap): Case[] => [
    { overlap, catchUp: merge, holder: 'nobody', found: '10:06:05', rows: [one('10:06', 'running schedule')] },
    { overlap, catchUp: merge, holder: 'manual', found: '10:06:05', rows: [one('10:06', 'queued schedule')] },
    { overlap, catchUp: merge, holder: 'catch-up', found: '10:06:05', rows: [one('10:06', 'queued schedule')] },
    {
      overlap,
      catchUp: merge,
      holder: 'nobody',
      found: '10:10:05',
      rows: [`${k('10:06')} running catch-up ${k('10:06')}..${k('10:10')} x5`],
    },
    {
      overlap,
      catchUp: merge,
      holder: 'fresh',
      found: '10:10:05',
      rows: [`${k('10:06')} queued catch-up ${k('10:06')}..${k('10:10')} x5`],
    },
    {
      overlap,
      catchUp: merge,
      holder: 'manual',
      found: '10:10:05',
      rows: [`${k('10:06')} queued catch-up ${k('10:06')}..${k('10:10')} x5`],
    },
    {
      overlap,
      catchUp: skip,
      holder: 'nobody',
      found: '10:10:05',
      rows: [`${k('10:06')} missed(policy) schedule ${k('10:06')}..${k('10:09')} x4`, one('10:10', 'running schedule')],
    },
    {
      overlap,
      catchUp: each,
      holder: 'nobody',
      found: '10:10:05',
      rows: [
        one('10:06', 'missed(too-many) schedule'),
        one('10:07', 'running catch-up'),
        one('10:08', 'queued catch-up'),
        one('10:09', 'queued catch-up'),
        one('10:10', 'queued schedule'),
      ],
    },
    {
      overlap,
      catchUp: each,
      holder: 'manual',
      found: '10:10:05',
      rows: [
        one('10:06', 'missed(too-many) schedule'),
        one('10:07', 'queued catch-up'),
        one('10:08', 'queued catch-up'),
        one('10:09', 'queued catch-up'),
        one('10:10', 'queued schedule'),
      ],
    },
    {
      overlap,
      catchUp: merge,
      holder: 'nobody',
      found: '12:10:05',
      rows: [
        `${k('10:06')} missed(too-old) schedule ${k('10:06')}..${k('11:10')} x65`,
        `${k('11:11')} running catch-up ${k('11:11')}..${k('12:10')} x60`,
      ],
    },
  ]),
  {
    overlap: 'skip',
    catchUp: merge,
    holder: 'fresh',
    found: '10:06:05',
    rows: [one('10:06', 'skipped(overlap) schedule')],
  },
  { overlap: 'wait', catchUp: merge, holder: 'fresh', found: '10:06:05', rows: [one('10:06', 'queued schedule')] },
  { overlap: 'merge', catchUp: merge, holder: 'fresh', found: '10:06:05', rows: [one('10:06', 'queued schedule')] },
  { overlap: 'replace', catchUp: merge, holder: 'fresh', found: '10:06:05', rows: [one('10:06', 'queued schedule')] },
  {
    overlap: 'skip',
    catchUp: each,
    holder: 'fresh',
    found: '10:10:05',
    rows: [
      one('10:06', 'missed(too-many) schedule'),
      one('10:07', 'queued catch-up'),
      one('10:08', 'queued catch-up'),
      one('10:09', 'queued catch-up'),
      one('10:10', 'skipped(overlap) schedule'),
    ],
  },
  {
    overlap: 'skip',
    catchUp: skip,
    holder: 'fresh',
    found: '10:10:05',
    rows: [
      `${k('10:06')} missed(policy) schedule ${k('10:06')}..${k('10:09')} x4`,
      one('10:10', 'skipped(overlap) schedule'),
    ],
  },
]

describe('overlap × catch-up × what is found', () => {
  test.each(CASES)('$overlap, $catchUp.policy, place held by $holder, found at $found', (one) => {
    const { book, holder } = scene(one.holder, { overlap: one.overlap, catchUp: one.catchUp })
    const before = new Set(book.rows.keys())
    book.now = at(one.found)
    book.attend({ room: 1 })
    const rows = [...book.rows.values()]
      .filter((run) => !before.has(run.key))
      .sort((a, b) => a.scheduledAt - b.scheduledAt)
    expect(rows.map(line)).toEqual(one.rows)
    if (one.overlap === 'replace' && one.holder === 'fresh' && one.found === '10:06:05') {
      expect(book.rows.get(holder?.key ?? '')?.stop).toMatchObject({ kind: 'replace', by: 'fleetcron' })
    } else if (holder !== null) {
      expect(book.rows.get(holder.key)?.stop).toBeNull()
    }
  })
})

describe('a row of occurrences', () => {
  test('skipped ones in a row extend one row; a run in between begins another', () => {
    const book = Book.defined(`${day}T10:00:30Z`)
    const [run] = step(book, '10:01:00')
    for (const minute of ['10:02:00', '10:03:00', '10:04:00']) step(book, minute)
    expect(book.lines()).toEqual([
      one('10:01', 'running schedule'),
      `${k('10:02')} skipped(overlap) schedule ${k('10:02')}..${k('10:04')} x3`,
    ])
    book.settle(run as Run, { kind: 'returned', result: null })
    step(book, '10:05:00')
    step(book, '10:06:00')
    expect(book.lines().slice(1)).toEqual([
      `${k('10:02')} skipped(overlap) schedule ${k('10:02')}..${k('10:04')} x3`,
      one('10:05', 'running schedule'),
      one('10:06', 'skipped(overlap) schedule'),
    ])
  })

  test('overlap merge: one waiting run absorbs what follows, is dated by the newest, and is frozen at its grant', () => {
    const book = Book.defined(`${day}T10:00:30Z`, { overlap: 'merge' })
    const [first] = step(book, '10:01:00')
    for (const minute of ['10:02:00', '10:03:00', '10:04:00']) step(book, minute)
    const waiting = book.rows.get(k('10:02')) as Run
    expect(line(waiting)).toBe(`${k('10:02')} queued schedule ${k('10:02')}..${k('10:04')} x3`)
    expect(waiting.scheduledAt).toBe(at('10:04:00'))
    book.settle(first as Run, { kind: 'returned', result: null })
    const [second] = step(book, '10:04:30')
    expect(second?.key).toBe(k('10:02'))
    step(book, '10:05:00')
    expect(book.rows.get(k('10:02'))?.covers?.to).toBe(k('10:04'))
    expect(second?.since).toBe(at('10:01:00'))
  })

  test('queue: one more than may wait is skipped with that reason, a trigger is refused', () => {
    const book = Book.defined(`${day}T10:00:30Z`, { overlap: 'wait', queue: 2 })
    for (const minute of ['10:01:00', '10:02:00', '10:03:00', '10:04:00']) step(book, minute)
    expect(book.rows.get(k('10:04'))).toMatchObject({ state: 'skipped', reason: 'queue-full' })
    const ask = (id: string) =>
      book.command((job, ctx) => trigger(job, { request: { id, by: 'me', why: null }, data: '1' }, ctx))
    expect([ask('a').outcome, ask('b').outcome]).toEqual(['change', 'change'])
    expect(ask('c')).toMatchObject({
      outcome: 'refused',
      code: 'QUEUE_FULL',
      message: expect.stringContaining('queue: 2'),
    })
    expect(book.rows.get(manualKey('a'))).toMatchObject({ cause: 'manual', covers: null, data: '1', date: day })
  })
})

function step(book: Book, time: string): Run[] {
  book.now = at(time)
  return book.attend()
}
