import { describe, expect, test } from 'vitest'
import { attend } from '../../src/ledger/index.js'
import type { Definition, Run } from '../../src/ledger/types.js'
import { judge } from '../../src/store/guards.js'
import { Book } from './book.js'

/**
 * Faults seen in other schedulers, as far as they are decisions. Others stand beside what they are about: F04, F05, F85,
 * F86, F89 in cursor.test.ts; F61, F63, F84 in define.test.ts; F34 in recover.test.ts; F76 in settle.test.ts.
 */

const hourly: Partial<Definition> = { schedule: { cron: '0 * * * *', timeZone: 'UTC', dstGap: 'next' } }
const returned = { kind: 'returned', result: null } as const
const keys = (runs: readonly Run[]): string[] => runs.map(({ key }) => key)

describe('F09 after a sleep not every missed one is run at once', () => {
  const found = (terms: Partial<Definition>): Book => {
    const book = Book.defined('2026-11-29T10:00:30Z', terms)
    book.attendAt('2026-11-29T13:00:30Z')
    return book
  }

  test('by default one run for the last hour, the older ones missed', () => {
    expect(found({}).lines()).toEqual([
      '2026-11-29T10:01Z missed(too-old) schedule 2026-11-29T10:01Z..2026-11-29T12:00Z x120',
      '2026-11-29T12:01Z running catch-up 2026-11-29T12:01Z..2026-11-29T13:00Z x60',
    ])
  })

  test('skip: none but the fresh one; each: up to the cap, in order, one at a time', () => {
    const skip = found({ catchUp: { policy: 'skip', withinMs: null, most: 100 } })
    expect(skip.live().map(({ key }) => key)).toEqual(['2026-11-29T13:00Z'])
    const book = found({ catchUp: { policy: 'each', withinMs: 86_400_000, most: 5 } })
    const order: string[] = []
    for (let turn = 0; turn < 50; turn += 1) {
      const running = book.live().filter(({ state }) => state === 'running')
      const [run] = running
      if (run === undefined) break
      expect(running).toHaveLength(1)
      order.push(run.key.slice(11))
      book.settle(run, returned)
      book.attend()
    }
    expect(order).toEqual(['12:55Z', '13:00Z', '12:56Z', '12:57Z', '12:58Z', '12:59Z'])
  })
})

describe('F13 a new node does not plan from its own start', () => {
  test('what was due while nobody looked is run by whoever comes', () => {
    const book = Book.defined('2026-11-29T09:30:00Z', hourly)
    book.now = Date.parse('2026-11-29T10:00:03Z')
    expect(book.define('d1', book.aggregate().definition)).toBe(false)
    expect(keys(book.attend({ session: 'new' }))).toEqual(['2026-11-29T10:00Z'])
  })
})

describe('F15 nothing is dispatched or advanced twice', () => {
  test('two nodes that read the same decide the same; the second change is refused by its version', () => {
    const book = Book.defined('2026-11-29T09:30:00Z', hourly)
    book.now = Date.parse('2026-11-29T10:00:00Z')
    const job = book.aggregate()
    const [first, second] = ['n1', 'n2'].map((node) => attend(job, { ...book.ctx({ session: node, node }) }))
    if (!first || !second) throw new Error('both decide')
    const shown = ({ header, runs }: NonNullable<typeof first>) => [
      header.cursor,
      header.wakeAt,
      runs.map(({ run }) => [run.key, run.state, run.token, run.covers]),
    ]
    expect(shown(first)).toEqual(shown(second))
    book.apply(first)
    const found = {
      version: book.aggregate().version,
      settled: book.aggregate().tally.settled,
      run: (key: string) => book.rows.get(key) ?? null,
      event: () => false,
      definition: () => true,
      attempt: () => null,
    }
    expect(judge(second, found)).toEqual({ job: 'svc:job', outcome: 'stale' })
    expect(judge(first, found)).toEqual({ job: 'svc:job', outcome: 'won' })
    expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T11:00Z'))
  })

  test('a slow handler does not make the next one lost', () => {
    const book = Book.defined('2026-11-29T09:30:00Z', hourly)
    const [run] = book.attendAt('2026-11-29T10:00:00Z')
    book.now = Date.parse('2026-11-29T10:59:59.946Z')
    book.settle(run ?? book.row(''), returned)
    expect(book.attend()).toEqual([])
    expect(keys(book.attendAt('2026-11-29T11:00:00Z'))).toEqual(['2026-11-29T11:00Z'])
  })
})

describe('F77 a run longer than its period, on three nodes', () => {
  /** Five minutes of a job whose run takes five, looked after by three nodes in turn. */
  function five(terms: Partial<Definition>): Book {
    const book = Book.defined('2026-11-29T10:00:30Z', terms)
    for (let minute = 1; minute <= 5; minute += 1) {
      const node = `n${minute % 3}`
      book.attendAt(`2026-11-29T10:0${minute}:00Z`, { session: node, node })
    }
    return book
  }

  test('skip: recorded as skipped', () => {
    expect(five({}).lines()).toEqual([
      '2026-11-29T10:01Z running schedule 2026-11-29T10:01Z..2026-11-29T10:01Z x1',
      '2026-11-29T10:02Z skipped(overlap) schedule 2026-11-29T10:02Z..2026-11-29T10:05Z x4',
    ])
  })

  test('wait: one after another', () => {
    const book = five({ overlap: 'wait' })
    for (const minute of [1, 2, 3, 4, 5]) {
      const running = book.live().filter(({ state }) => state === 'running')
      expect(keys(running)).toEqual([`2026-11-29T10:0${minute}Z`])
      for (const run of running) book.settle(run, returned)
      book.now += 1_000
      book.attend({ session: `n${minute}` })
    }
    expect(book.live()).toEqual([])
  })

  test('more places: side by side', () => {
    const book = five({ concurrency: 3 })
    expect(book.live().map(({ session, key }) => `${session} ${key.slice(11)}`)).toEqual([
      'n1 10:01Z',
      'n2 10:02Z',
      'n0 10:03Z',
    ])
  })
})

describe('keys that exist although the cursor is before them: a store that forgot, or was restored in part', () => {
  /** The cursor goes back while the rows stay. */
  function forget(book: Book): void {
    const job = book.aggregate()
    const cursor = { instant: Date.parse('2026-11-29T10:00:30Z'), label: '' }
    book.job = { ...job, header: { ...job.header, cursor, lastFate: null, wakeAt: book.now } }
  }

  /** As the loop does it: two tries, then what the clashes have shown is forgotten, and it looks again while it is due. */
  function attendUntilDone(book: Book): number {
    for (let attendances = 1; attendances < 50; attendances += 1) {
      const first = attend(book.aggregate(), book.ctx())
      const clash = (first?.runs ?? []).filter(({ run, expect }) => expect === null && book.rows.has(run.key))
      if (first === null) return attendances
      if (clash.length === 0) book.apply(first)
      else book.apply(attend(book.aggregate(), { ...book.ctx(), taken: new Set(clash.map(({ run }) => run.key)) }))
    }
    throw new Error('no end of clashes')
  }

  test.each(['merge', 'each', 'skip'] as const)(
    '%s: what has a row is decided, and no other row is made over it',
    (policy) => {
      const book = Book.defined('2026-11-29T10:00:30Z', {
        overlap: 'wait',
        catchUp: { policy, withinMs: 86_400_000, most: 100 },
      })
      for (const minute of [1, 2, 3]) {
        for (const run of book.attendAt(`2026-11-29T10:0${minute}:00Z`)) book.settle(run, returned)
      }
      const before = book.lines()
      book.now = Date.parse('2026-11-29T10:03:30Z')
      forget(book)
      expect(attendUntilDone(book)).toBeLessThan(6)
      expect(book.lines()).toEqual(before)
      expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T10:04Z'))
      book.now = Date.parse('2026-11-29T10:04:00Z')
      forget(book)
      expect(attendUntilDone(book)).toBeLessThan(7)
      expect(book.lines().slice(3)).toEqual([
        '2026-11-29T10:04Z running schedule 2026-11-29T10:04Z..2026-11-29T10:04Z x1',
      ])
    },
  )

  test.each(['merge', 'each', 'skip'] as const)('%s: rows that still live are not written over', (policy) => {
    const book = Book.defined('2026-11-29T10:00:30Z', {
      overlap: 'wait',
      catchUp: { policy, withinMs: 86_400_000, most: 100 },
    })
    for (const minute of [1, 2, 3]) book.attendAt(`2026-11-29T10:0${minute}:00Z`)
    const before = [...book.rows.values()]
    book.now = Date.parse('2026-11-29T10:03:30Z')
    forget(book)
    expect(attendUntilDone(book)).toBeLessThan(6)
    expect([...book.rows.values()]).toEqual(before)
    expect(book.aggregate().header.cursor.instant).toBe(Date.parse('2026-11-29T10:03:00Z'))
  })

  test('a run that is queued anew is not started where its earlier handler still runs', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { overlap: 'wait' })
    const busy = new Set(['2026-11-29T10:01Z'])
    book.attendAt('2026-11-29T10:01:00Z', { room: 0 })
    expect(book.attend({ busy })).toEqual([])
    book.attendAt('2026-11-29T10:02:00Z', { room: 0 })
    expect(keys(book.attend({ busy }))).toEqual(['2026-11-29T10:02Z'])
    const other = Book.defined('2026-11-29T10:00:30Z', { overlap: 'wait' })
    other.attendAt('2026-11-29T10:01:00Z', { room: 0 })
    expect(keys(other.attend({ session: 's2' }))).toEqual(['2026-11-29T10:01Z'])
  })

  test('a row of missed ones is not extended over one that was decided elsewhere', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', {
      catchUp: { policy: 'skip', withinMs: null, most: 1 },
      graceMs: 0,
    })
    book.attendAt('2026-11-29T10:01:30Z')
    const taken = new Set(['2026-11-29T10:02Z'])
    book.attendAt('2026-11-29T10:02:30Z', { taken })
    book.attendAt('2026-11-29T10:03:30Z', { taken })
    expect(book.lines()).toEqual([
      '2026-11-29T10:01Z missed(policy) schedule 2026-11-29T10:01Z..2026-11-29T10:01Z x1',
      '2026-11-29T10:03Z missed(policy) schedule 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
    ])
  })
})
