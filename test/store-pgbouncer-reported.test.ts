import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pg as effectsOf } from '../src/effect/pg/index.js'
import { createFleet, type Fleet } from '../src/index.js'
import { attemptOf } from './effect/business-folder.js'
import { PostgresPlace, poolOf } from './postgres/place.js'
import { sharedServer } from './servers/index.js'

/** A transaction pooler as others have seen it surprise them: `test/cases/faults.json`. */
let direct: string
let pooled: string
let place: PostgresPlace
const fleets: Fleet[] = []
beforeAll(async () => {
  const servers = await Promise.all([sharedServer('postgres'), sharedServer('pgbouncer')])
  ;[direct, pooled] = servers.map(({ url }) => url) as [string, string]
  place = new PostgresPlace(direct)
})
afterAll(async () => {
  for (const fleet of fleets) await fleet.stop()
  await place.remove()
})

describe('F40 F42 a fleet whose every node is behind a pooler in transaction mode', () => {
  it('needs no session: no lock is stranded, no statement has a name, and each occurrence has one run', async () => {
    const calls: string[] = []
    const store = new URL(pooled)
    store.searchParams.set('schema', place.schema)
    for (const name of ['a', 'b', 'c']) {
      const fleet = createFleet({ fleet: 'f', service: 'app', store: store.href, nodeLabel: name, logger: false })
      fleet.job('tick', { cron: '* * * * * *', overlap: 'wait' }, (run) => void calls.push(run.key))
      fleets.push(fleet)
    }
    await Promise.all(fleets.map((fleet) => fleet.start()))
    while (calls.length < 4) await Promise.race(fleets.map((fleet) => fleet.once('run-settled')))
    const runs = await (fleets[0] as Fleet).runs({ job: 'tick', states: ['succeeded', 'failed'] })
    expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['succeeded']))
    expect(new Set(calls).size).toBe(calls.length)
    const stranded = `SELECT query FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND state = 'idle'`
    expect(await place.sql(stranded)).toEqual([])
    expect(await place.sql('SELECT name FROM pg_prepared_statements')).toEqual([])
  })

  it('has its effects once there, two clients with the same statements side by side', async () => {
    const pools = [poolOf(pooled, 4), poolOf(pooled, 4)] as const
    const [mine] = pools
    try {
      await Promise.all(pools.map((pool) => effectsOf(pool).ensure()))
      await mine.query('CREATE TABLE pooled_note (text TEXT)')
      const runs = pools.map((pool) => attemptOf(effectsOf(pool)))
      const make = (i: number) =>
        runs[i % 2]?.once(`pooled ${i % 10}`, (tx) =>
          tx.query('INSERT INTO pooled_note VALUES ($1)', [`${i % 10}`]).then(() => i),
        )
      const made = await Promise.all(Array.from({ length: 60 }, (_, i) => make(i)))
      expect(new Set(made).size).toBe(10)
      expect((await mine.query('SELECT text FROM pooled_note')).rows).toHaveLength(10)
    } finally {
      await mine.query('DROP TABLE IF EXISTS pooled_note, fleetcron_effect, fleetcron_fence')
      await Promise.all(pools.map((pool) => pool.end()))
    }
  })
})
