import { describe, expect, test } from 'vitest'
import { Draft } from '../../src/ledger/draft.js'
import { isLive, isReachable, isTransition, poke, REASONS, recordUnowned, TRANSITIONS } from '../../src/ledger/index.js'
import type { Definition, Run, RunError, RunState } from '../../src/ledger/types.js'
import { Book } from './book.js'

const KEY = '2026-11-29T10:01Z'
const RETRY = { limit: 1, delayMs: 90_000, factor: 1, maxDelayMs: 90_000 }
const threw = { kind: 'threw', error: { name: 'E', message: 'no', stack: null } } as const

function due(terms: Partial<Definition> = {}): Book {
  const book = Book.defined('2026-11-29T10:00:30Z', terms)
  book.now = Date.parse('2026-11-29T10:01:00Z')
  return book
}

function running(terms: Partial<Definition> = {}): { book: Book; run: Run } {
  const book = due(terms)
  return { book, run: book.take() }
}

type Step = `${RunState | 'nothing'} ${(typeof TRANSITIONS)[number]['event']} ${RunState}`

/** For every step of the table a scene in which it is taken, and the row that takes it. */
const SCENES: Record<Step, () => { book: Book; key: string }> = scenes({
  'nothing queue queued': () => {
    const book = due()
    book.attend({ room: 0 })
    return { book, key: KEY }
  },
  'nothing skip skipped': () => {
    const { book } = running()
    book.attendAt('2026-11-29T10:02:00Z')
    return { book, key: '2026-11-29T10:02Z' }
  },
  'nothing miss missed': () => {
    const book = due({ graceMs: 0, catchUp: { policy: 'skip', withinMs: null, most: 1 } })
    book.attendAt('2026-11-29T10:01:01Z')
    return { book, key: KEY }
  },
  'nothing record succeeded': () => recorded(null),
  'nothing record failed': () => recorded({ name: 'E', message: 'no', stack: null }),
  'queued absorb queued': () => {
    const { book } = running({ overlap: 'merge' })
    book.attendAt('2026-11-29T10:02:00Z')
    book.attendAt('2026-11-29T10:03:00Z')
    return { book, key: '2026-11-29T10:02Z' }
  },
  'queued poke queued': () => {
    const book = due({ pokeGraceMs: 30_000 })
    book.attend()
    book.apply(poke(book.aggregate(), book.ctx()))
    return { book, key: KEY }
  },
  'queued grant running': () => {
    const book = due()
    book.attend({ room: 0 })
    book.attend()
    return { book, key: KEY }
  },
  'queued cancel cancelled': () => {
    const book = due()
    book.attend({ room: 0 })
    book.ask('cancel', { run: book.row(KEY) })
    return { book, key: KEY }
  },
  'queued replace skipped': () => {
    const { book } = running({ overlap: 'replace' })
    book.attendAt('2026-11-29T10:02:00Z')
    book.attendAt('2026-11-29T10:03:00Z')
    return { book, key: '2026-11-29T10:02Z' }
  },
  'running ask-to-stop running': () => {
    const { book, run } = running()
    book.ask('cancel', { run })
    return { book, key: KEY }
  },
  'running succeed succeeded': () => settled({ kind: 'returned', result: null }),
  'running fail failed': () => settled(threw),
  'running stop cancelled': () => settled({ kind: 'cancelled', why: 'cancel' }),
  'running retry queued': () => settled(threw, { retry: RETRY }),
  'running hand-back queued': () => settled({ kind: 'handed-back', why: 'stop', called: true }),
  'running recover queued': () => lost({}),
  'running give-up failed': () => lost({ recover: 0 }),
  'skipped extend skipped': () => {
    const { book } = running()
    book.attendAt('2026-11-29T10:02:00Z')
    book.attendAt('2026-11-29T10:03:00Z')
    return { book, key: '2026-11-29T10:02Z' }
  },
  'missed extend missed': () => {
    const book = due()
    book.ask('pause')
    book.attend()
    book.now += 60_000
    book.ask('resume')
    book.ask('pause')
    book.now += 60_000
    book.ask('resume')
    return { book, key: '2026-11-29T10:02Z' }
  },
})

function scenes(all: Partial<Record<Step, () => { book: Book; key: string }>>) {
  return all as Record<Step, () => { book: Book; key: string }>
}

function settled(outcome: Parameters<Book['settle']>[1], terms: Partial<Definition> = {}) {
  const { book, run } = running(terms)
  book.settle(run, outcome)
  return { book, key: KEY }
}

function recorded(error: RunError | null) {
  const book = due()
  const instant = book.now - 30_000
  const times = { startedAt: instant, endedAt: instant + 1_000 }
  const unowned = { id: 'x1', key: KEY, instant, date: '2026-11-29', definition: 'd1', node: 'n1#1', ...times }
  book.command((job, ctx) => recordUnowned(job, { ...unowned, result: null, error, isTimeout: false }, ctx))
  return { book, key: `outage:${KEY}:x1` }
}

function lost(terms: Partial<Definition>) {
  const { book } = running(terms)
  book.attend({ session: 's2', room: 0, ended: book.ended('s1') })
  return { book, key: KEY }
}

describe('the table of states and events', () => {
  test.each(TRANSITIONS)('$from $event $to', ({ from, event, to }) => {
    const { book, key } = SCENES[`${from ?? 'nothing'} ${event} ${to}`]()
    const last = book.history.findLast(({ after }) => after.key === key)
    expect([last?.before?.state ?? null, last?.after.state]).toEqual([from, to])
    const { state, reason, place, endedAt } = book.row(key)
    expect(endedAt === null).toBe(isLive(state))
    if (!isLive(state)) expect(place).toBe(false)
    const reasons: readonly string[] = state in REASONS ? REASONS[state as keyof typeof REASONS] : []
    expect(reason === null ? [] : reasons).toEqual(reason === null ? [] : expect.arrayContaining([reason]))
    expect(reason === null).toBe(isLive(state) || state === 'succeeded')
  })

  test('has a scene for each step, and no scene has another', () => {
    expect(Object.keys(SCENES).sort()).toEqual(
      TRANSITIONS.map(({ from, event, to }) => `${from ?? 'nothing'} ${event} ${to}`).sort(),
    )
  })

  test('never leaves a terminal state, but to extend what was not worked on', () => {
    for (const { from, event } of TRANSITIONS) {
      if (from !== null && !isLive(from)) expect(event).toBe('extend')
    }
  })

  test('isTransition knows exactly these', () => {
    expect(isTransition('queued', 'grant', 'running')).toBe(true)
    expect(isTransition('queued', 'grant', 'queued')).toBe(false)
    expect(isTransition('running', 'grant', 'running')).toBe(false)
    expect(isTransition(null, 'queue', 'queued')).toBe(true)
    expect(isTransition('skipped', 'queue', 'queued')).toBe(false)
  })

  test('isReachable: what one write may do to a row', () => {
    const states = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped', 'missed'] as const
    const reachable = [null, ...states].map((from) => states.filter((to) => isReachable(from, to)).join(' '))
    expect(reachable).toEqual([
      'queued running succeeded failed cancelled skipped missed',
      'queued running cancelled skipped',
      'queued running succeeded failed cancelled',
      '',
      '',
      '',
      'skipped',
      'missed',
    ])
  })

  test('a draft refuses any other step', () => {
    const { book, run } = running()
    const draft = new Draft(book.aggregate(), book.ctx())
    expect(() => draft.step(run, 'grant', { ...run, state: 'running' })).toThrow(
      `ledger: svc:job ${KEY} cannot grant from running to running`,
    )
    expect(() => draft.step(null, 'grant', run)).toThrow('from null to running')
  })
})
