import { describe, expect, test } from 'vitest'
import { BUCKETS, bucketOf, cleanText, hash32, pause } from '../../src/ledger/index.js'
import { keptJson } from '../../src/ledger/text.js'
import { Book } from './book.js'

const HOSTILE = 'a\u0000b\ud800c\udc00d😀'
const CLEAN = 'a\ufffdb\ufffdc\ufffdd😀'

describe('text that enters the ledger', () => {
  test('is free of NUL and lone surrogates, and pairs stay', () => {
    expect(cleanText(HOSTILE, 100)).toBe(CLEAN)
    expect(encodeURIComponent(cleanText(HOSTILE, 100))).toContain('%F0%9F%98%80')
    expect(cleanText('\ud83d\ud83d\ude00\ude00', 100)).toBe('\ufffd😀\ufffd')
  })

  test('is cut to its limit, and a pair that is cut leaves no half', () => {
    expect(cleanText('abcdef', 6)).toBe('abcdef')
    expect(cleanText('abcdefg', 6)).toBe('abcde…')
    expect(cleanText('ab😀cd', 4)).toBe('ab\ufffd…')
    expect(cleanText('', 4)).toBe('')
  })

  test('JSON is not cut: what is too long is not kept', () => {
    expect(keptJson('"abc"', 5)).toBe('"abc"')
    expect(keptJson('"abcd"', 5)).toBeNull()
    expect(keptJson(null, 5)).toBeNull()
    expect(keptJson('"\ud800"', 5)).toBe('"\ufffd"')
  })

  test('errors, names, notes, reasons of people and data are', () => {
    const book = new Book('2026-11-29T10:00:30Z', { job: 'svc:job', service: 'svc', name: HOSTILE })
    book.define('d1', { ...Book.defined('2026-11-29T10:00Z').aggregate().definition })
    expect(book.aggregate().header.name).toBe(CLEAN)
    const run = book.attendAt('2026-11-29T10:01:00Z')[0] ?? book.row('')
    const long = `${HOSTILE}${'x'.repeat(20_000)}`
    book.settle(run, { kind: 'threw', error: { name: long, message: long, stack: long } })
    const { error, attempts } = book.row(run.key)
    expect([error?.name.length, error?.message.length, error?.stack?.length]).toEqual([200, 2_000, 8_000])
    expect(error?.message.startsWith(CLEAN)).toBe(true)
    expect(attempts[0]?.note).toHaveLength(500)
    book.ask('trigger', { id: 'a', data: `"${HOSTILE}"` })
    expect(book.row('manual:a').data).toBe(`"${CLEAN}"`)
    const request = { id: 'p', by: long, why: long }
    const decision = book.command((job, ctx) => pause(job, { request, until: null }, ctx))
    expect(decision.outcome).toBe('change')
    const held = book.aggregate().header.pause
    expect([held?.by.length, held?.why?.length]).toEqual([200, 1_000])
    const event = book.events.at(-1)
    expect([event?.by.length, event?.why?.length]).toEqual([200, 1_000])
  })

  test('a result longer than its limit is dropped, the run has succeeded all the same', () => {
    const book = Book.defined('2026-11-29T10:00:30Z')
    const kept = (result: string): string | null => {
      const run = book.attendAt(new Date(book.now + 60_000).toISOString())[0] ?? book.row('')
      book.settle(run, { kind: 'returned', result })
      expect(book.row(run.key).state).toBe('succeeded')
      return book.row(run.key).result
    }
    expect(kept(`"${'x'.repeat(16_382)}"`)).toHaveLength(16_384)
    expect(kept(`"${'x'.repeat(16_383)}"`)).toBeNull()
  })

  test('the release of a definition is', () => {
    const book = new Book('2026-11-29T10:00:30Z')
    book.release = long()
    book.define('d1', Book.defined('2026-11-29T10:00Z').aggregate().definition)
    expect(book.changes[0]?.definition?.release).toBe(`${'x'.repeat(199)}…`)
    book.release = null
    book.define('d2', Book.defined('2026-11-29T10:00Z').aggregate().definition)
    expect(book.changes[1]?.definition?.release).toBeNull()
  })
})

function long(): string {
  return 'x'.repeat(300)
}

describe('buckets', () => {
  test('are a function of the name, the same for ever', () => {
    expect(['svc:job', 'billing:daily-invoices', ''].map(bucketOf)).toEqual([2, 69, 78])
    expect(hash32('svc:job')).toBe(2_539_694_338)
    expect(BUCKETS).toBe(256)
  })

  test('take about as many jobs each', () => {
    const counts = new Array<number>(BUCKETS).fill(0)
    for (let i = 0; i < 25_600; i += 1) {
      const bucket = bucketOf(`billing:job-${i}`)
      counts[bucket] = (counts[bucket] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(50)
    expect(Math.max(...counts)).toBeLessThan(160)
  })
})
