import { beforeAll, describe, expect, it } from 'vitest'
import type { Result } from '../../examples/billing/demo/reckoning.js'
import { DEMO_MS, isAlive, lastLine, type Played, play } from './play.js'

/** A server is started before, killed meanwhile, and started again. */
const WITH_SERVER_MS = DEMO_MS + 100_000

/** The demonstration with its ledger on a server, which is killed as well. */
export function demonstratedOn(store: string): void {
  describe(`npm run demo -- --store ${store} --restart-server`, () => {
    let played: Played
    let result: Result

    beforeAll(async () => {
      played = await play('--store', store, '--restart-server', '--json', '--seed', '5')
      result = lastLine(played)
    }, WITH_SERVER_MS)

    it('loses nothing and repeats nothing when nodes and the server of the ledger are killed', () => {
      expect(played, played.stdout + played.stderr).toMatchObject({ code: 0, stderr: '' })
      expect(result).toMatchObject({ store, serverRestarts: 1, duplicates: 0, missing: 0, paused: 1 })
      expect(result.killed).toBeGreaterThanOrEqual(1)
      expect(result.lateWritesRefused).toBeGreaterThanOrEqual(1)
      expect(result.invoices).toBe(result.periods * result.customers)
    })

    it('leaves no process', () => {
      expect(result.pids.filter(isAlive)).toEqual([])
    })
  })
}
