import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { pg as effectsOf } from '../src/effect/pg/index.js'
import type { Store } from '../src/store/port.js'
import { creation, fresh, granted, header, queued } from '../src/testing/store/builders.js'
import { attemptOf } from './effect/business-folder.js'
import { PostgresBusiness } from './effect/postgres-business.js'
import { PostgresPlace } from './postgres/place.js'
import { TestSession } from './postgres/session.js'
import { sharedServer } from './servers/index.js'

/** Postgres as others have seen it surprise them: `test/cases/faults.json`. */
let url: string
let place: PostgresPlace
let business: PostgresBusiness
const opened: Store[] = []
beforeAll(async () => {
  url = (await sharedServer('postgres')).url
  business = await PostgresBusiness.make(url)
  await business.rows('CREATE TABLE note (text TEXT)')
  await effectsOf(business.pool()).ensure()
})
afterAll(() => business.close())
beforeEach(() => {
  place = new PostgresPlace(url)
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await place.remove()
})

async function ledger(): Promise<Store> {
  const store = place.store('f')
  await store.open()
  opened.push(store)
  return store
}

describe('F44 F45 F48 instants', () => {
  it('are whole numbers in every column: nothing is rounded, cut, or read in the zone of a session', async () => {
    await ledger()
    const columns = `SELECT table_name || '.' || column_name AS name, data_type AS type FROM information_schema.columns`
    const kept = await place.sql<{ name: string; type: string }>(
      `${columns} WHERE table_schema = '${place.schema}' AND data_type ~ 'time|date'`,
    )
    const effects = await business.rows(
      `${columns} WHERE table_schema = current_schema() AND table_name LIKE 'fleetcron%' AND data_type ~ 'time|date'`,
    )
    expect([kept, effects]).toEqual([[], []])
  })

  it.each([Date.parse('2026-11-29T23:59:59.999Z'), Date.parse('2026-11-30T00:00:00.000Z'), 9_007_199_254_740_991])(
    'come back as they were, %i',
    async (at) => {
      const store = await ledger()
      const session = await TestSession.begin(store)
      const waiting = queued('billing:a', '2026-11-29T23:59:59.999Z', { scheduledAt: at, readyAt: at })
      const run = granted(waiting, { session: 's', attemptId: 'a.1', token: Number.MAX_SAFE_INTEGER, at })
      expect(await session.outcomes(creation('c', 'billing:a', { runs: [fresh(run)] }))).toEqual(['won'])
      expect((await session.read('billing:a')).runs).toEqual([run])
    },
  )
})

describe('F58 a commit that fails after its statements went well', () => {
  const FAILS = (table: string, fn: string) => `
    CREATE FUNCTION ${fn}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'certification failed'; END $$;
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${fn}()`

  it('has claimed nothing in the ledger', async () => {
    const store = await ledger()
    const session = await TestSession.begin(store)
    await place.sql(FAILS('SCHEMA.run', 'SCHEMA.fail'))
    const waiting = queued('billing:a', 'k')
    const run = granted(waiting, { session: 's', attemptId: 'a.1', token: 1, at: 0 })
    const change = creation('c', 'billing:a', { header: header('billing:a'), runs: [fresh(run)] })
    const outcome = await session.outcomes(change).catch((error) => error.code)
    expect(outcome).not.toEqual(['won'])
    expect((await store.load({ jobs: ['billing:a'] })).jobs.size).toBe(0)
    await place.sql('DROP TRIGGER late ON SCHEMA.run')
    expect(await session.outcomes(change)).toEqual(['won'])
  })

  it('has made no effect, and leaves its key free', async () => {
    await business.rows(FAILS('note', 'fail'))
    const run = attemptOf(effectsOf(business.pool()))
    const write = () => run.once('late', (tx) => tx.query(`INSERT INTO note VALUES ('late')`).then(() => 'made'))
    await expect(write()).rejects.toThrow('certification failed')
    expect(await business.rows(`SELECT key FROM fleetcron_effect WHERE key = 'late'`)).toEqual([])
    await business.rows('DROP TRIGGER late ON note')
    expect(await write()).toBe('made')
    expect(await business.rows('SELECT text FROM note')).toEqual([{ text: 'late' }])
  })
})

describe('F41 a lock of the length of a short transaction', () => {
  it('covers the write that it guards: the second effect of a key waits until the first has committed', async () => {
    const [a, b] = [attemptOf(effectsOf(business.pool(2))), attemptOf(effectsOf(business.pool(2)))]
    const order: string[] = []
    let inside: () => void = () => {}
    const isInside = new Promise<void>((resolve) => {
      inside = resolve
    })
    let go: () => void = () => {}
    const mayGo = new Promise<void>((resolve) => {
      go = resolve
    })
    const first = a.once('locked', async () => {
      inside()
      await mayGo
      order.push('first is about to commit')
      return 'first'
    })
    await isInside
    const second = b
      .once('locked', () => 'second')
      .then((value) => {
        order.push(`second is told: ${value}`)
      })
    // The server itself says that the second waits.
    const waits = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO fleetcron_effect%'`
    for (let waiting = 0; waiting === 0; ) {
      const [row] = await business.rows<{ count: number }>(waits)
      waiting = row?.count ?? 0
    }
    go()
    await Promise.all([first, second])
    expect(order).toEqual(['first is about to commit', 'second is told: first'])
  })
})
