import { describe, expect, test } from 'vitest'
import { keep } from '../../src/ledger/index.js'
import type { Definition } from '../../src/ledger/types.js'
import { Book, TERMS } from './book.js'

/** Schedules that are kept in the store: they belong to whoever asked last, not to what nodes carry. */
const kept = (recover: number): Definition => ({ ...TERMS, recover, handler: 'digest', data: '{"tenantId":"t"}' })

function ask(book: Book, verb: 'ensure' | 'upsert', recover: number, isBooting = false): string {
  const names = { ...book.names, release: null, by: 'me', verb, isBooting }
  const input = { ...names, hash: `h${recover}`, content: kept(recover), known: book.known }
  const decision = keep(book.job, input, book.ctx())
  if (decision.outcome === 'change') book.apply(decision.change)
  return decision.outcome === 'refused' ? decision.message : decision.outcome
}

function story(book: Book): string {
  return book.changes.flatMap(({ definition }) => definition?.hash ?? []).join(' ')
}

describe('a schedule kept in the store', () => {
  test('ensure creates what is absent and leaves what is there', () => {
    const book = new Book('2026-11-29T10:00:30Z')
    expect([ask(book, 'ensure', 1), ask(book, 'ensure', 2), ask(book, 'ensure', 1)]).toEqual([
      'change',
      'unchanged',
      'unchanged',
    ])
    expect(story(book)).toBe('h1')
  })

  test('upsert puts other terms in their place, at once, and equal ones write nothing', () => {
    const book = new Book('2026-11-29T10:00:30Z')
    for (const recover of [1, 1, 2, 2, 1]) ask(book, 'upsert', recover)
    expect(story(book)).toBe('h1 h2 h1')
    expect(book.aggregate().header.definitionSeq).toBe(3)
    book.attendAt('2026-11-29T10:01:00Z')
    expect(book.row('2026-11-29T10:01Z').definition).toBe('h1')
  })

  test('an upsert during boot may bring new terms, but not earlier ones back', () => {
    const book = new Book('2026-11-29T10:00:30Z')
    ask(book, 'upsert', 1, true)
    expect(ask(book, 'upsert', 2, true)).toBe('change')
    expect(ask(book, 'upsert', 2, true)).toBe('unchanged')
    expect(ask(book, 'upsert', 1, true)).toBe(
      "schedule 'job' had these terms before, and others since: a boot does not bring earlier ones back. " +
        'Use ensure at boot, or upsert once the fleet has started',
    )
    expect(ask(book, 'upsert', 3, true)).toBe('change')
    expect(story(book)).toBe('h1 h2 h3')
  })

  test('one that was removed comes back by either verb, also with the same terms', () => {
    for (const verb of ['ensure', 'upsert'] as const) {
      const book = new Book('2026-11-29T10:00:30Z')
      ask(book, verb, 1)
      book.ask('retire')
      expect(ask(book, verb, 1, true)).toBe('change')
      expect(book.aggregate().header).toMatchObject({ retired: false, definitionSeq: 2 })
    }
  })

  test('a job that code declares is not one', () => {
    const book = Book.defined('2026-11-29T10:00:30Z')
    expect(ask(book, 'ensure', 1)).toBe(
      'svc:job is declared by code: a schedule kept in the store needs a name of its own',
    )
    book.ask('retire')
    expect(ask(book, 'upsert', 1)).toContain('is declared by code')
  })

  test('its backlog is decided under the old terms first', () => {
    const book = new Book('2026-11-29T10:00:30Z')
    ask(book, 'upsert', 1)
    book.now = Date.parse('2026-11-29T10:02:05Z')
    ask(book, 'upsert', 2)
    expect(book.row('2026-11-29T10:01Z')).toMatchObject({ definition: 'h1', covers: { count: 2 } })
  })
})
