import { benchFor, type EffectDatabase, type TestApi } from './bench.js'
import { callsSuite } from './calls.js'
import { endedSuite } from './ended.js'
import { fenceSuite } from './fence.js'
import { joinedSuite } from './joined.js'
import { nestedSuite } from './nested.js'
import { onceSuite } from './once.js'
import { poolsSuite } from './pools.js'
import { retentionSuite } from './retention.js'
import { valuesSuite } from './values.js'

export type { EffectDatabase, PoolOptions, TestApi } from './bench.js'

/**
 * What every adapter of effects has to hold, on the real database through the real library.
 *
 * @param open makes an empty database for each test
 * @example
 * effectConformance({ describe, test }, 'better-sqlite3', () => {
 *   const folder = mkdtempSync(join(tmpdir(), 'effects-'))
 *   const open: Database.Database[] = []
 *   return {
 *     connect() {
 *       const database = new Database(join(folder, 'business.db'))
 *       open.push(database)
 *       return sqliteAdapter(database)
 *     },
 *     close() {
 *       for (const database of open) database.close()
 *       rmSync(folder, { recursive: true })
 *     },
 *   }
 * })
 */
export function effectConformance<Tx>(
  { describe, test }: TestApi,
  name: string,
  open: () => EffectDatabase<Tx> | Promise<EffectDatabase<Tx>>,
): void {
  const withBench = benchFor(open)
  describe(`effects on ${name}`, () => {
    describe('once', () => onceSuite(test, withBench))
    describe('a transaction that ends inside it', () => endedSuite(test, withBench))
    describe('keys, inputs and results', () => valuesSuite(test, withBench))
    describe('fence', () => fenceSuite(test, withBench))
    describe('joined', () => joinedSuite(test, withBench))
    describe('nested', () => nestedSuite(test, withBench))
    describe('pools', () => poolsSuite(test, withBench))
    describe('calls', () => callsSuite(test, withBench))
    describe('retention', () => retentionSuite(test, withBench))
  })
}
