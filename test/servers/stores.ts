import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The stores that are held against their tests: those in `test/store-<name>.test.ts` and `test/store-<name>-….test.ts`, and
 * with them the effects and BullMQ, where they need the same server, in `test/effect-<name>….test.ts` and `test/bullmq-<name>….test.ts`.
 * A further store is its name here, those files, and, where it needs a server, an engine (see engine.ts).
 */
export const STORES = [
  'memory',
  'sqlite',
  'postgres',
  'postgres18',
  'pgbouncer',
  'mariadb',
  'redis',
  'redis-cluster',
  'remote',
] as const

export type StoreName = (typeof STORES)[number]

/** The stores of this run: `npm test -- --stores sqlite,memory`, or FLEETCRON_TEST_STORES; all of them by default. */
export function storesUnderTest(asked = process.env.FLEETCRON_TEST_STORES): readonly StoreName[] {
  if (asked === undefined || asked === '') return STORES
  return asked.split(',').map((name) => {
    const known = STORES.find((store) => store === name.trim())
    if (known === undefined) throw new Error(`There is no store ${name} to test; there are ${STORES.join(', ')}.`)
    return known
  })
}

/** The test files that belong to the stores that are left out; a file that belongs to no store always runs. */
export function filesLeftOut(
  stores = storesUnderTest(),
  files = readdirSync(join(import.meta.dirname, '..')),
): string[] {
  return files
    .filter((file) => {
      const store = storeOf(file)
      return store !== null && !stores.includes(store)
    })
    .map((file) => `test/${file}`)
}

/** The store with the longest name that a file is named after: `store-redis-cluster.test.ts` is not of `redis`. */
function storeOf(file: string): StoreName | null {
  const [, words] = /^(?:store|effect|bullmq)-(.+)\.test\.ts$/.exec(file) ?? []
  if (words === undefined) return null
  const named = STORES.filter((store) => words === store || words.startsWith(`${store}-`))
  return named.sort((a, b) => b.length - a.length)[0] ?? null
}
