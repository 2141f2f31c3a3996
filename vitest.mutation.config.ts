import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Most mutants fail by a table, and a mutant's run stops at its first failure: what takes seconds is asked last. */
const SLOW = /(properties|laws|odd-zones|zone-data|bounded)\.test\.ts$/

class TablesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.test(moduleId)
    return [...sorted.filter((file) => !isSlow(file)), ...sorted.filter(isSlow)]
  }
}

// Mutation testing asks what the tests of the pure modules notice; tests with processes would only slow it down.
// stryker.config.json names a tsconfig that does not exist on purpose: Stryker would rewrite a real one through
// TypeScript's API, which TypeScript 7 no longer has.
export default defineConfig({
  test: {
    include: ['src/schedule/**/*.test.ts', 'src/ledger/**/*.test.ts', 'test/{schedule,ledger}/**/*.test.ts'],
    testTimeout: 60_000,
    // The modules are pure: test files can share them, which saves loading them for each file and mutant.
    isolate: false,
    sequence: { sequencer: TablesFirst },
    env: { FLEETCRON_PROPERTY_SCALE: '0.05' },
    // Random stories notice a great deal, but late: what decides here are the tables and sequences.
    exclude: ['test/ledger/model.test.ts', 'test/schedule/host-zone.test.ts'],
  },
})
