import { describe, expect, test } from 'vitest'
import type { Definition } from '../../src/ledger/types.js'
import { Book, TERMS } from './book.js'

/** Which definition holds, as sequences of nodes that come, carry a definition, and go. */

const START = Date.parse('2026-11-29T10:00:30Z')
const SECOND = 1_000

/** Each letter is a definition of its own. */
function terms(letter: string): Definition {
  return { ...TERMS, recover: letter.charCodeAt(0) }
}

/**
 * The fleet as the store sees it: a node is live as long as it beats, and a dead one was last seen when it died. Every
 * node offers its definition when it starts, and all live ones do every ten seconds (more often than the loop).
 */
class Fleet {
  readonly book = new Book(new Date(START).toISOString())
  private readonly nodes = new Map<string, { hash: string; seenAt: number; live: boolean }>()

  private carried(): Map<string, number> {
    const seen = new Map<string, number>()
    for (const { hash, seenAt } of this.nodes.values()) seen.set(hash, Math.max(seenAt, seen.get(hash) ?? 0))
    return seen
  }

  start(node: string, letter: string): this {
    this.nodes.set(node, { hash: letter, seenAt: this.book.now, live: true })
    this.book.define(letter, terms(letter), this.carried())
    return this
  }

  kill(node: string): this {
    const found = this.nodes.get(node)
    if (found !== undefined) found.live = false
    return this
  }

  /** Time passes, in steps of ten seconds. */
  pass(seconds: number): this {
    const end = this.book.now + seconds * SECOND
    while (this.book.now < end) {
      this.book.now = Math.min(end, this.book.now + 10 * SECOND)
      const live = [...this.nodes.values()].filter((node) => node.live)
      for (const node of live) node.seenAt = this.book.now
      for (const node of live) this.book.define(node.hash, terms(node.hash), this.carried())
    }
    return this
  }

  /** Definitions in the order in which they came into force. */
  get story(): string {
    return this.book.changes.flatMap(({ definition }) => definition?.hash ?? []).join(' ')
  }
}

describe('which definition holds', () => {
  test('one at first sight, and the same again changes nothing', () => {
    const fleet = new Fleet().start('n1', 'a').start('n2', 'a').pass(600)
    expect(fleet.story).toBe('a')
    expect(fleet.book.changes).toHaveLength(1)
    expect(fleet.book.aggregate().header).toMatchObject({ definition: 'a', definitionSeq: 1, anchor: START })
  })

  test('F84 a second instance that offers the same does not end a series', () => {
    const fleet = new Fleet().start('n1', 'a').pass(50)
    const wakeAt = fleet.book.aggregate().header.wakeAt
    fleet.start('n2', 'a').kill('n1').pass(9)
    expect(fleet.book.aggregate().header.wakeAt).toBe(wakeAt)
    expect(fleet.book.attendAt('2026-11-29T10:01:30Z').map((run) => run.key)).toEqual(['2026-11-29T10:01Z'])
  })

  test('changed without a new version: the new one at once, and it stays while old nodes live', () => {
    expect(new Fleet().start('n1', 'a').start('n2', 'a').pass(60).start('n3', 'b').pass(3_600).story).toBe('a b')
  })

  test('a rolling deploy', () => {
    const fleet = new Fleet().start('n1', 'a').start('n2', 'a').pass(90)
    fleet.start('n3', 'b').pass(20).kill('n1').pass(20).start('n4', 'b').pass(20).kill('n2').pass(600)
    expect(fleet.story).toBe('a b')
  })

  test('an old process that crash-loops during a roll flips nothing', () => {
    const fleet = new Fleet().start('n1', 'a').pass(90).start('n2', 'b').pass(10)
    for (let i = 0; i < 40; i += 1) fleet.kill('n1').pass(30).start('n1', 'a')
    expect(fleet.story).toBe('a b')
  })

  test('a new process that crash-loops flips nothing: it is entered once, and given up after a minute without it', () => {
    const fleet = new Fleet().start('n1', 'a').pass(90)
    for (let i = 0; i < 20; i += 1) fleet.start('n2', 'b').kill('n2').pass(50)
    expect(fleet.story).toBe('a b')
    for (let i = 0; i < 20; i += 1) fleet.start('n2', 'b').kill('n2').pass(300)
    expect(fleet.story).toBe('a b a')
  })

  test('a full roll-back: after a minute without the new one, the old one is entered anew', () => {
    const fleet = new Fleet().start('n1', 'a').pass(90).start('n2', 'b').pass(90).kill('n2').pass(50)
    expect(fleet.story).toBe('a b')
    fleet.pass(10)
    expect(fleet.story).toBe('a b a')
    expect(fleet.book.aggregate().header.definitionSeq).toBe(3)
    expect(fleet.start('n3', 'b').pass(3_600).story).toBe('a b a')
  })

  test('a deploy after a roll-back: the same content as before comes when nobody carries the other any more', () => {
    const fleet = new Fleet().start('n1', 'a').pass(90).start('n2', 'b').pass(90).kill('n2').pass(90)
    expect(fleet.start('n3', 'b').pass(90).kill('n1').pass(50).story).toBe('a b a')
    expect(fleet.pass(20).story).toBe('a b a b')
  })

  test('two steps back: the newest that live nodes carry is entered', () => {
    const fleet = new Fleet().start('n1', 'a').pass(10).start('n2', 'b').pass(10).start('n3', 'c').pass(90)
    expect(fleet.kill('n3').pass(300).story).toBe('a b c b')
    expect(fleet.kill('n2').pass(300).story).toBe('a b c b a')
  })

  test('per-node differences: two nodes with other terms live side by side, nothing flips', () => {
    const fleet = new Fleet().start('n1', 'a').start('n2', 'b').pass(7_200)
    expect(fleet.story).toBe('a b')
    expect(fleet.kill('n1').pass(120).start('n1', 'a').pass(7_200).story).toBe('a b')
  })

  test('a definition entered just now is not given up because no beat has shown it yet', () => {
    const fleet = new Fleet().start('n1', 'a').pass(90)
    expect(fleet.book.define('b', terms('b'), new Map([['b', fleet.book.now]]))).toBe(true)
    expect(fleet.pass(50).story).toBe('a b')
    expect(fleet.pass(10).story).toBe('a b a')
  })

  test('a step back of the store clock gives nothing up early', () => {
    const fleet = new Fleet().start('n1', 'a').pass(90).start('n2', 'b').pass(200)
    fleet.book.now -= 180 * SECOND
    expect(fleet.pass(170).story).toBe('a b')
  })

  test('no node at all: nothing changes by itself, and the first that comes after a minute may bring any', () => {
    const fleet = new Fleet().start('n1', 'a').pass(90).start('n2', 'b').pass(90).kill('n1').kill('n2').pass(30)
    expect(fleet.start('n3', 'a').story).toBe('a b')
    expect(fleet.kill('n3').pass(60).start('n4', 'a').story).toBe('a b a')
  })

  test('what a node that is gone carried does not stand in the way of an older one', () => {
    const fleet = new Fleet().start('n1', 'a').pass(10).start('n2', 'b').pass(10).start('n3', 'c').pass(90)
    fleet.kill('n2').pass(20)
    expect(fleet.kill('n3').pass(40).story).toBe('a b c')
    expect(fleet.pass(30).story).toBe('a b c a')
  })
})

describe('a definition that is entered', () => {
  test('is kept with its release, and the event says who and what', () => {
    const book = new Book('2026-11-29T10:00:30Z')
    book.define('a', terms('a'))
    book.define('b', terms('b'))
    expect(book.changes.map(({ definition }) => definition)).toEqual([
      { hash: 'a', content: terms('a'), seq: 1, enteredAt: START, release: '1.0' },
      { hash: 'b', content: terms('b'), seq: 2, enteredAt: START, release: '1.0' },
    ])
    expect(book.events).toEqual([
      {
        id: 'c1.defined',
        at: START,
        job: 'svc:job',
        kind: 'defined',
        by: 'test',
        why: null,
        data: '{"hash":"a"}',
      },
      {
        id: 'c2.defined',
        at: START,
        job: 'svc:job',
        kind: 'redefined',
        by: 'test',
        why: null,
        data: '{"hash":"b","from":"a"}',
      },
    ])
    expect(book.aggregate().header).toMatchObject({ job: 'svc:job', service: 'svc', name: 'job', retired: false })
  })

  test('ends the row of what was not worked on: the next begins another', () => {
    const book = Book.defined('2026-11-29T10:00:30Z')
    for (const minute of ['01', '02']) book.attendAt(`2026-11-29T10:${minute}:00Z`)
    book.define('d2', { ...TERMS, recover: 9 })
    book.attendAt('2026-11-29T10:03:00Z')
    expect(book.lines().slice(1)).toEqual([
      '2026-11-29T10:02Z skipped(overlap) schedule 2026-11-29T10:02Z..2026-11-29T10:02Z x1',
      '2026-11-29T10:03Z skipped(overlap) schedule 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
    ])
    expect(book.row('2026-11-29T10:03Z').definition).toBe('d2')
  })

  test('registering a job makes nothing of the past due', () => {
    const book = Book.defined('2026-11-29T10:00:00Z')
    expect(book.attend()).toEqual([])
    expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T10:01Z'))
  })
})

describe('F61 a retired job', () => {
  function retired(): Fleet {
    const fleet = new Fleet().start('n1', 'a').pass(10).start('n2', 'b').pass(90)
    fleet.kill('n1').kill('n2').pass(90).book.ask('retire')
    return fleet
  }

  test('is due no more, and stays so without a node that carries it', () => {
    const fleet = retired().pass(7_200)
    expect(fleet.book.aggregate().header).toMatchObject({ retired: true, wakeAt: null })
    expect(fleet.book.attend()).toEqual([])
  })

  test('comes back when it is defined again, from then on: what passed meanwhile is not due', () => {
    const fleet = retired()
    fleet.book.now += 3_600 * SECOND
    fleet.start('n3', 'b')
    expect(fleet.story).toBe('a b b')
    expect(fleet.book.aggregate().header).toMatchObject({ retired: false, definition: 'b', definitionSeq: 3 })
    expect(fleet.book.events.at(-1)?.why).toBe('defined again after it was retired')
    const rows = fleet.book.rows.size
    expect(fleet.book.attend()).toEqual([])
    expect(fleet.book.rows.size).toBe(rows)
    expect(fleet.pass(60).book.attend()).toHaveLength(1)
  })

  test('comes back under terms that are new to the store, and not under older ones than live nodes carry', () => {
    expect(retired().start('n3', 'c').story).toBe('a b c')
    const fleet = new Fleet().start('n1', 'a').pass(10).start('n2', 'b').pass(90)
    fleet.book.ask('retire')
    expect(fleet.start('n3', 'a').story).toBe('a b')
    expect(fleet.pass(10).story).toBe('a b b')
  })

  test('a fixed-time one goes on above its old labels', () => {
    const nine: Definition = { ...TERMS, schedule: { cron: '0 9 * * *', timeZone: 'Tokyo', dstGap: 'next' } }
    const book = Book.defined('2026-11-28T20:00Z', nine)
    book.attendAt('2026-11-29T00:00Z')
    book.ask('retire')
    book.now = Date.parse('2026-11-29T01:00Z')
    book.define('west', { ...nine, schedule: { cron: '0 9 * * *', timeZone: 'New York', dstGap: 'next' } })
    book.attendAt('2026-11-29T14:00Z')
    expect(book.rows.size).toBe(1)
    book.ask('retire')
    book.now = Date.parse('2026-12-05T20:00Z')
    book.define('d1', nine)
    book.attend()
    expect(book.rows.size).toBe(1)
  })
})

describe('F63 two services with one job name', () => {
  test('have two ledgers: keys, resources and definitions do not meet', () => {
    const [one, two] = ['billing', 'reports'].map((service) => {
      const book = new Book('2026-11-29T10:00:30Z', { job: `${service}:cleanup`, service, name: 'cleanup' })
      book.define(service, terms(service))
      return book.attendAt('2026-11-29T10:01:00Z')[0]
    })
    expect([one?.key, two?.key]).toEqual(['2026-11-29T10:01Z', '2026-11-29T10:01Z'])
    expect([one?.resource, two?.resource]).toEqual(['f/billing:cleanup', 'f/reports:cleanup'])
    expect([one?.job, two?.job]).toEqual(['billing:cleanup', 'reports:cleanup'])
  })
})
