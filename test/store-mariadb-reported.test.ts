import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createFleet, type Fleet } from '../src/index.js'
import { MysqlPlace } from './mysql/place.js'
import { sharedServer } from './servers/index.js'

/** MariaDB as others have seen it surprise them: `test/cases/faults.json`. */
let place: MysqlPlace
const fleets: Fleet[] = []
beforeAll(async () => {
  place = new MysqlPlace((await sharedServer('mariadb')).url)
})
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.stop()
})
afterAll(() => place.remove())

describe('F46 instants of a MariaDB ledger', () => {
  it('are whole numbers in every column, so that none is rounded into the next second, or cut', async () => {
    const store = place.store('f')
    await store.open()
    await store.close()
    const columns = await place.sql<{ type: string }>(
      `SELECT DISTINCT data_type AS type FROM information_schema.columns
       WHERE table_schema = DATABASE() AND table_name LIKE '${place.prefix}%'`,
    )
    const types = columns.map(({ type }) => type)
    expect(types).toContain('bigint')
    expect(types.filter((type) => /date|time|float|double|decimal/.test(type))).toEqual([])
  })
})

describe('F49 ten nodes that make many jobs of one instant at once', () => {
  it('lose nothing to deadlocks: each occurrence has one run, and nobody hears of an error', async () => {
    const url = new URL(place.url)
    url.searchParams.set('prefix', place.prefix)
    const errors: string[] = []
    const keep = (line: string) => void errors.push(line)
    const logger = { info: () => {}, warn: () => {}, error: keep }
    const calls = new Map<string, number>()
    for (let node = 0; node < 10; node++) {
      const store = url.href
      const fleet = createFleet({ fleet: 'f', service: 'app', store, nodeLabel: `node ${node}`, logger })
      for (let job = 0; job < 20; job++) {
        fleet.job(`job ${job}`, { cron: '*/2 * * * * *', overlap: 'wait' }, (run) => {
          const name = `${run.job} ${run.key}`
          calls.set(name, (calls.get(name) ?? 0) + 1)
        })
      }
      fleets.push(fleet)
    }
    await Promise.all(fleets.map((fleet) => fleet.start()))
    while (calls.size < 60) await Promise.race(fleets.map((fleet) => fleet.once('run-settled')))
    expect([...calls.values()].filter((times) => times > 1)).toEqual([])
    expect(errors).toEqual([])
    const failed = await (fleets[0] as Fleet).runs({ states: ['failed', 'cancelled'] })
    expect(failed).toEqual([])
  })
})
