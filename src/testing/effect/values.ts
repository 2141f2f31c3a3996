import assert from 'node:assert/strict'
import { never, refused, type TestApi, type WithBench } from './bench.js'

type Test = TestApi['test']

export function valuesSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  keys(test, withBench)
  results(test, withBench)
  limits(test, withBench)
  inputs(test, withBench)
}

/** All different, also to a database that folds case, accents or trailing blanks. */
const KEYS = [
  'a',
  'A',
  'a ',
  ' a',
  'á',
  'a\u0301',
  'ß',
  'ss',
  '1',
  '01',
  '😀',
  '👩‍👩‍👧',
  `'; DROP TABLE note; --`,
  '"quoted"',
  '`ticked`',
  '$1 ? ?? :name @p1 %s',
  'back\\slash',
  'new\nline\ttab',
  '__proto__',
  'constructor',
  'null',
  'x'.repeat(512),
  '😀'.repeat(512),
  `${'😀'.repeat(511)}a`,
]

function keys<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'keys of any text are different keys, exactly',
    withBench(async ({ site }) => {
      const here = await site({ prefix: '😀'.repeat(64) })
      for (const [i, key] of KEYS.entries()) {
        assert.equal(await here.effects.once(key, (tx) => here.note(tx, `n${i}`, i)), i, key)
      }
      for (const [i, key] of KEYS.entries()) assert.equal(await here.effects.once(key, never), i, key)
    }),
  )

  test(
    'what is no key is refused with a sentence',
    withBench(async ({ site }) => {
      const here = await site()
      for (const [key, reason] of [
        ['', /empty/],
        ['x'.repeat(513), /513 characters/],
        ['😀'.repeat(513), /513 characters/],
        ['a\0b', /NUL/],
        ['a\ud83d', /surrogate/],
        ['\ude00a', /surrogate/],
        [undefined, /undefined, not a text/],
        [42, /number, not a text/],
        [null, /null, not a text/],
      ] as const) {
        const error = await refused('EFFECT_INVALID', () => here.effects.once(key as string, never))
        assert.match(error.message, reason)
      }
      await refused('EFFECT_INVALID', () => here.effects.once('a', undefined as never))
    }),
  )
}

function results<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'results come back as they were, also those that JSON makes hard',
    withBench(async ({ site }) => {
      const here = await site()
      const values: readonly unknown[] = [
        undefined,
        null,
        false,
        0,
        '',
        'text',
        [],
        {},
        [[null]],
        { a: { b: [1, 'x', { c: true }] } },
        'NUL \0, half \ud800, whole 😀, \u2028',
        { '': 1, "it's": '"' },
        JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
        0.1 + 0.2,
        Number.MAX_SAFE_INTEGER,
        5e-324,
      ]
      for (const [i, value] of values.entries()) {
        const first = await here.effects.once(`key ${i}`, (tx) => here.note(tx, 'n', value))
        assert.deepEqual(first, value)
        assert.deepEqual(await here.effects.once(`key ${i}`, never), value)
      }
    }),
  )

  test(
    'the first call gives what a repeat will give',
    withBench(async ({ site }) => {
      const here = await site()
      const made = { at: new Date(0), gone: undefined, list: new Uint8Array(0), own: { toJSON: () => 'told' } }
      const first: unknown = await here.effects.once('a', (tx) => here.note(tx, 'n', made))
      assert.deepEqual(first, { at: '1970-01-01T00:00:00.000Z', list: {}, own: 'told' })
      assert.deepEqual(await here.effects.once('a', never), first)
    }),
  )
}

function limits<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'what JSON would lose is refused before the commit',
    withBench(async ({ site }) => {
      const here = await site()
      const circle: Record<string, unknown> = {}
      circle.self = circle
      const lossy: readonly unknown[] = [
        () => 1,
        Symbol('s'),
        1n,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        new Date(Number.NaN),
        circle,
        new Map([[1, 2]]),
        { deep: [new Set()] },
        [undefined],
        { toJSON: () => undefined },
      ]
      for (const value of lossy) {
        await refused('EFFECT_INVALID', () => here.effects.once('a', (tx) => here.note(tx, 'n', value)))
        await refused('EFFECT_INVALID', () => here.effects.once('a', never, { input: value }))
      }
      assert.deepEqual(await here.notes(), [])
      assert.equal(await here.effects.once('a', (tx) => here.note(tx, 'n', 1)), 1)
    }),
  )

  test(
    'a result may have 64 kB of JSON, and not a byte more',
    withBench(async ({ site }) => {
      const here = await site()
      const largest = [`é${'x'.repeat(65_532)}`, `"${'y'.repeat(65_532)}`]
      for (const [i, text] of largest.entries()) {
        const key = `key ${i}`
        await refused('RESULT_TOO_LARGE', () => here.effects.once(key, (tx) => here.note(tx, 'n', `${text}z`)))
        assert.equal(await here.effects.once(key, (tx) => here.note(tx, 'n', text)), text)
        assert.equal(await here.effects.once(key, never), text)
      }
      assert.deepEqual(await here.notes(), ['n', 'n'])
    }),
  )
}

function inputs<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'inputs of any shape are told apart',
    withBench(async ({ site }) => {
      const here = await site()
      const shapes: readonly unknown[] = [
        null,
        false,
        0,
        '0',
        '',
        'none',
        [],
        {},
        [[]],
        ['a,b'],
        ['a', 'b'],
        { a: 'b' },
        { 'a":"b': 1 },
        JSON.parse('{"__proto__":1}'),
        JSON.parse('{"__proto__":2}'),
        { a: '\0' },
        { a: '\ud800' },
        { a: '\udfff' },
        { a: undefined, b: 1 },
        'x'.repeat(1_000_000),
      ]
      for (const [i, input] of shapes.entries()) {
        const key = `key ${i}`
        await here.effects.once(key, (tx) => here.note(tx, 'n', i), { input })
        assert.equal(await here.effects.once(key, never, { input }), i)
        for (const other of [...shapes.slice(0, i), undefined]) {
          await refused('KEY_CONFLICT', () => here.effects.once(key, never, { input: other }))
        }
      }
    }),
  )
}
