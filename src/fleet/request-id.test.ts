import { describe, expect, it } from 'vitest'
import { KEY_LIMIT, requestId } from './request-id.js'

describe('the id of a request with a key', () => {
  it('tells every job and key from any other', () => {
    const pairs = [
      ['app:b', 'c#d'],
      ['app:b#c', 'd'],
      ['app:b', 'c'],
      ['app:b', `c${'x'.repeat(900)}1`],
      ['app:b', `c${'x'.repeat(900)}2`],
      ['app:b', '\ud800'],
      ['app:b', '\ud801'],
      ['app:b', '\ufffd'],
      ['app:b', '\u0000'],
    ] as const
    expect(new Set(pairs.map(([job, key]) => requestId(job, key))).size).toBe(pairs.length)
  })

  it('is the same for the same, begins with the key, and can be kept by any store', () => {
    for (const key of ['invoice-42', '😀'.repeat(500), '\ud800\u0000', 'x'.repeat(KEY_LIMIT)]) {
      const id = requestId('app:b', key)
      expect(requestId('app:b', key)).toBe(id)
      expect(id.length).toBeLessThanOrEqual(110)
      expect(Buffer.from(id).toString()).toBe(id)
      expect(id).not.toContain('\u0000')
    }
    expect(requestId('app:b', 'invoice-42')).toMatch(/^invoice-42#[\w-]{43}$/)
  })

  it.each(['', 'x'.repeat(KEY_LIMIT + 1), 7, null])('refuses %j', (key) => {
    expect(() => requestId('app:b', key as string)).toThrow(/a trigger's key is a text of 1 to 1000 characters/)
  })
})
