import { AsyncLocalStorage } from 'node:async_hooks'
import type Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createEffects } from '../src/effect/effects.js'
import { RetryTransaction } from '../src/effect/errors.js'
import type { AsyncAdapter } from '../src/effect/port.js'
import { awaitingAdapter } from './effect/awaiting-adapter.js'
import { attemptOf, BusinessFolder, noteIn, notesIn } from './effect/business-folder.js'
import { TurnedClock } from './effect/turned-clock.js'

let folder: BusinessFolder
let database: Database.Database
let adapter: AsyncAdapter<Database.Database>

beforeEach(async () => {
  folder = new BusinessFolder()
  database = folder.connect()
  adapter = awaitingAdapter(() => folder.connect({ timeout: 0 }))
  await createEffects(adapter).ensure()
})
afterEach(() => folder.remove())

const never = () => {
  throw new Error('called')
}

describe('effects that join one asynchronous transaction at the same time', () => {
  test('take turns, also inside another effect', async () => {
    const run = attemptOf(createEffects(adapter))
    const busy = { now: 0, most: 0 }
    const make = (key: string) => async (tx: Database.Database) => {
      busy.now++
      busy.most = Math.max(busy.most, busy.now)
      await adapter.query(tx, 'SELECT text FROM note', [])
      busy.now--
      return noteIn(tx, key)
    }
    const names = Array.from({ length: 30 }, (_, i) => `n${10 + i}`)
    const all = (tx: Database.Database, of: readonly string[]) =>
      Promise.all(of.map((name) => run.once(name, make(name), { tx })))
    expect(await adapter.transaction((tx) => all(tx, names))).toEqual(names)
    const inner = names.map((name) => `inner ${name}`)
    expect(await run.once('outer', (tx) => all(tx, inner))).toEqual(inner)
    expect(busy).toEqual({ now: 0, most: 1 })
    expect(notesIn(database)).toEqual([...inner, ...names])
  })

  test('may stand inside each other', async () => {
    const run = attemptOf(createEffects(adapter))
    const made = await adapter.transaction(async (tx) =>
      run.once('outer', async () => [await run.once('inner', () => noteIn(tx, 'inner'), { tx }), 'outer'], { tx }),
    )
    expect(made).toEqual(['inner', 'outer'])
    expect(await run.once('inner', never)).toBe('inner')
  })

  test('go on when one of them fails', async () => {
    const run = attemptOf(createEffects(adapter))
    const outcomes = await adapter.transaction((tx) =>
      Promise.allSettled([
        run.once('a', never, { tx }),
        run.once('a', () => 1, { tx }),
        run.once('a', never, { tx }),
        run.once('b', async () => 2, { tx }),
      ]),
    )
    expect(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
    ).toEqual(['called', 1, 1, 2])
  })
})

describe('an effect without tx', () => {
  test('joins the transaction that surrounds it, where the adapter knows of one', async () => {
    const surrounding = new AsyncLocalStorage<Database.Database>()
    const run = attemptOf(createEffects({ ...adapter, ambient: () => surrounding.getStore() ?? null }))
    const rolledBack = adapter.transaction((tx) =>
      surrounding.run(tx, async () => {
        expect(await run.once('a', (inner) => noteIn(inner, 'a'))).toBe('a')
        throw new Error('the user rolls back')
      }),
    )
    await expect(rolledBack).rejects.toThrow('the user rolls back')
    expect(notesIn(database)).toEqual([])
    expect(await run.once('a', (tx) => noteIn(tx, 'alone'))).toBe('alone')
  })

  test('awaits a query builder that its function returns exactly once', async () => {
    let queries = 0
    const builder = Object.defineProperty({}, 'then', {
      value(resolve: (rows: number[]) => void) {
        queries++
        resolve([7])
      },
    })
    expect(await attemptOf(createEffects(adapter)).once('a', () => builder)).toEqual([7])
    expect(queries).toBe(1)
  })
})

describe('errors of the database', () => {
  const wrapped = (code: string) => new Error('Failed query', { cause: Object.assign(new Error(code), { code }) })

  test('that ask for a repeat get one, also when a library wrapped them', async () => {
    const clock = new TurnedClock()
    const run = attemptOf(createEffects(adapter, { clock }))
    let calls = 0
    const effect = run.once('a', (tx) => {
      noteIn(tx, `call ${++calls}`)
      if (calls < 3) throw wrapped('SQLITE_BUSY')
      return calls
    })
    await clock.turn()
    await clock.turn()
    expect(await effect).toBe(3)
    expect(notesIn(database)).toEqual(['call 3'])
  })

  test('in a joined transaction ask its owner for the repeat', async () => {
    const run = attemptOf(createEffects(adapter))
    const busy = wrapped('SQLITE_BUSY')
    const act = adapter.transaction((tx) => run.once('a', () => Promise.reject(busy), { tx }))
    await expect(act).rejects.toThrow(RetryTransaction)
    await expect(act).rejects.toMatchObject({ code: 'RETRY_TRANSACTION', cause: busy })
  })

  test('of an effect joined inside one with its own transaction repeat that one, once', async () => {
    const clock = new TurnedClock()
    const run = attemptOf(createEffects(adapter, { clock }))
    let calls = 0
    const effect = run.once('outer', (tx) =>
      run.once('inner', () => (++calls < 2 ? Promise.reject(wrapped('SQLITE_BUSY')) : noteIn(tx, 'inner')), { tx }),
    )
    await clock.turn()
    expect(await effect).toBe('inner')
    expect(calls).toBe(2)
  })

  test('that leave the outcome open say so, and a repeat finds what was written', async () => {
    const lost = wrapped('SQLITE_IOERR')
    let answers = 0
    const cut: AsyncAdapter<Database.Database> = {
      ...adapter,
      async transaction(fn) {
        const value = await adapter.transaction(fn)
        if (answers++ === 0) throw lost
        return value
      },
    }
    const run = attemptOf(createEffects(cut))
    const first = run.once('a', (tx) => noteIn(tx, 'a'))
    await expect(first).rejects.toMatchObject({
      code: 'EFFECT_UNAVAILABLE',
      message: expect.stringMatching(/effect 'a': .*Failed query.*not known.*same key is safe/),
      cause: lost,
    })
    expect(await run.once('a', never)).toBe('a')
    expect(notesIn(database)).toEqual(['a'])
  })
})
