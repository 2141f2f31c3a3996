import { describe, expect, it } from 'vitest'
import { startServer } from './servers/obtain.js'
import { filesLeftOut, STORES, storesUnderTest } from './servers/stores.js'

describe('the servers of the tests', () => {
  it('say what to do where they cannot be had', async () => {
    const engine = {
      name: 'nosuch',
      variable: 'FLEETCRON_TEST_NOSUCH_URL',
      packages: [],
      image: null,
      programs: () => null,
      start: () => Promise.reject(new Error('never')),
    }
    await expect(startServer(engine, () => Promise.reject(new Error('never')))).rejects.toThrow(
      /^The tests need a nosuch server: .* Run: npm install .*, or set FLEETCRON_TEST_NOSUCH_URL, or leave it out/,
    )
  })
})

describe('the stores of a run', () => {
  it('are all of them unless some are named', () => {
    expect(storesUnderTest('')).toEqual(STORES)
    expect(filesLeftOut(STORES)).toEqual([])
    expect(storesUnderTest('sqlite, memory')).toEqual(['sqlite', 'memory'])
    const files = [
      'store-redis.test.ts',
      'store-redis-wakes.test.ts',
      'store-redis-cluster.test.ts',
      'store-suite.test.ts',
    ]
    expect(filesLeftOut(['redis'], files)).toEqual(['test/store-redis-cluster.test.ts'])
    expect(filesLeftOut(['redis-cluster'], files)).toEqual([
      'test/store-redis.test.ts',
      'test/store-redis-wakes.test.ts',
    ])
    expect(filesLeftOut(['sqlite'])).toContain('test/store-postgres-plans.test.ts')
  })

  it('are refused where there is no such store', () => {
    expect(() => storesUnderTest('sqlite,oracle')).toThrow('There is no store oracle to test; there are memory')
  })
})
