import { describe, expect, it } from 'vitest'
import { outcomeOf } from './fleet/world.js'

const hostile = {
  get message(): string {
    throw new Error('no message for you')
  },
  get name(): string {
    throw new Error('nor a name')
  },
  toString() {
    throw new Error('nor a text')
  },
}
function fail(why: string): never {
  throw new Error(why)
}

const circular: Record<string, unknown> = {}
circular.self = circular

describe('a handler that fails', () => {
  it.each<[string, () => unknown, string]>([
    [
      'throws an error',
      () => {
        throw new TypeError('bad type')
      },
      'bad type',
    ],
    ['rejects', () => Promise.reject(new Error('later')), 'later'],
    [
      'throws undefined',
      () => {
        throw undefined
      },
      'the handler threw undefined',
    ],
    [
      'throws null',
      () => {
        throw null
      },
      'the handler threw null',
    ],
    [
      'throws a text',
      () => {
        throw 'just words'
      },
      "the handler threw the text 'just words'",
    ],
    [
      'throws a number',
      () => {
        throw 42
      },
      'the handler threw 42',
    ],
    [
      'throws a symbol',
      () => {
        throw Symbol('s')
      },
      'the handler threw Symbol(s)',
    ],
    [
      'throws an object',
      () => {
        throw { code: 7 }
      },
      '{"code":7}',
    ],
    [
      'throws what cannot be read',
      () => {
        throw hostile
      },
      'an object that cannot be printed',
    ],
    [
      'throws a circle',
      () => {
        throw circular
      },
      'an object that cannot be printed',
    ],
    [
      'throws an object without a prototype',
      () => {
        throw Object.create(null)
      },
      '{}',
    ],
    [
      'throws a function',
      () => {
        throw () => 1
      },
      'the handler threw a function',
    ],
    ['returns a thenable that throws', () => Object.defineProperty({}, 'then', { get: () => fail('then') }), 'then'],
    [
      'throws a revoked proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        throw proxy
      },
      'the handler threw something that cannot be read',
    ],
  ])('%s: the run has failed and says why', async (_, handler, message) => {
    const { run, a } = await outcomeOf(handler)
    expect(run?.state).toBe('failed')
    expect(run?.error?.message).toContain(message)
    expect(a.node.health().running).toEqual([])
    expect(a.lines.filter((line) => line.includes(' run '))).toHaveLength(1)
  })

  it('says the cause of an error', async () => {
    const { run } = await outcomeOf(() => Promise.reject(new Error('outer', { cause: new Error('inner') })))
    expect(run?.error?.message).toBe('outer (cause: inner)')
  })

  it('is tried again after the delay', async () => {
    const attempts: number[] = []
    const retry = { limit: 2, delayMs: 2_000, factor: 1, maxDelayMs: 60_000 }
    const { run } = await outcomeOf(
      (given) => {
        attempts.push(given.attempt)
        if (given.attempt < 3) throw new Error('not yet')
      },
      { retry },
    )
    expect(attempts).toEqual([1, 2, 3])
    expect(run?.state).toBe('succeeded')
  })
})

describe('a result', () => {
  it('is kept as JSON', async () => {
    expect((await outcomeOf(() => ({ invoices: 3 }))).run?.result).toBe('{"invoices":3}')
    expect((await outcomeOf(() => undefined)).run?.result).toBe(null)
  })

  it.each<[string, () => unknown, string]>([
    ['too large', () => 'x'.repeat(17_000), '17002 bytes'],
    ['circular', () => circular, 'cannot be written as JSON'],
    ['a big integer', () => 10n, 'cannot be written as JSON'],
  ])('that is %s is dropped with a warning, and the run has succeeded', async (_, handler, words) => {
    const { run, a } = await outcomeOf(handler)
    expect(run?.state).toBe('succeeded')
    expect(run?.result).toBe(null)
    expect(a.lines.some((line) => line.includes(words))).toBe(true)
  })
})
