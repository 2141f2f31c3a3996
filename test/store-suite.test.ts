import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../src/store/memory/index.js'
import type { Store } from '../src/store/port.js'
import { storeConformance } from '../src/testing/store/index.js'
import { BROKEN_STORES } from './broken-stores.js'

describe('the suite of stores', () => {
  it('finds nothing wrong with a right store', async () => {
    expect(
      await failures(
        (now) => createMemoryStore({ now }),
        () => true,
      ),
    ).toEqual([])
  })

  it.each(BROKEN_STORES.map((broken) => [broken.name, broken] as const))(
    'notices a store that %s',
    async (_, broken) => {
      const failed = await failures(broken.make, (title) => title.startsWith(broken.noticed))
      expect(failed).toEqual([expect.stringContaining(broken.noticed)])
    },
  )
})

/** Runs the wanted cases of the suite with a test runner that only collects, and gives the titles of those that failed. */
async function failures(make: (now: () => number) => Store, wanted: (title: string) => boolean): Promise<string[]> {
  const cases: { title: string; run: () => Promise<void> }[] = []
  const runner = {
    describe: (_: string, define: () => void) => define(),
    test: (title: string, run: () => Promise<void>) => void cases.push({ title, run }),
  }
  const open = (now: () => number) => {
    const store = make(now)
    return { connect: () => store, close: () => {} }
  }
  storeConformance(runner, 'a store', open, { fleets: false, wakes: false, spoils: false })
  const failed: string[] = []
  for (const { title, run } of cases.filter((each) => wanted(each.title))) {
    await run().catch(() => failed.push(title))
  }
  return failed
}
