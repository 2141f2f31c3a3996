/** The stores that are held against their tests; each has files `test/store-<name>.test.ts` and `test/store-<name>-….test.ts`. */
export const STORES = ['memory', 'sqlite', 'postgres', 'postgres18', 'pgbouncer'] as const

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

/** Patterns of the test files that belong to the stores that are left out. */
export function filesLeftOut(stores = storesUnderTest()): string[] {
  return STORES.filter((store) => !stores.includes(store)).flatMap((store) => [
    `test/store-${store}.test.ts`,
    `test/store-${store}-*.test.ts`,
  ])
}
