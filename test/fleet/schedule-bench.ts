import { createFleet, defineHandler, type Fleet, type FleetOptions, type RunOf } from '../../src/index.js'
import type { Change } from '../../src/ledger/types.js'
import { createMemoryStore, type MemoryStore } from '../../src/store/memory/index.js'
import type { Store } from '../../src/store/port.js'
import { ManualClock } from '../../src/testing/manual-clock.js'

const START = Date.UTC(2026, 10, 29, 7, 59, 30)
export const digest = defineHandler<{ tenantId: string }>('tenant-digest', { parse: tenant })
export const at8 = { cron: '0 8 * * *', timeZone: 'UTC' } as const

function tenant(data: unknown): { tenantId: string } {
  const { tenantId } = data as { tenantId?: unknown }
  if (typeof tenantId !== 'string') throw new TypeError('tenantId is not a text')
  return { tenantId }
}

/** Fleets that share one ledger and one clock; what they commit is counted. */
export class Bench {
  readonly clock = new ManualClock(START)
  readonly store: MemoryStore = createMemoryStore({ now: () => this.clock.wall() })
  readonly commits: Change[] = []
  readonly lines: string[] = []
  readonly fleets: Fleet[] = []
  readonly sent: string[] = []

  fleet(options: Partial<FleetOptions> = {}): Fleet {
    const write = (line: string) => void this.lines.push(line)
    const fleet = createFleet({
      fleet: 'billing',
      service: 'app',
      clock: this.clock,
      store: this.counted(),
      logger: { info: write, warn: write, error: write },
      ...options,
    })
    this.fleets.push(fleet)
    return fleet
  }

  /** A started fleet with the digest's handler. */
  async started(options: Partial<FleetOptions> = {}): Promise<Fleet> {
    const fleet = this.fleet(options)
    fleet.handler(digest, (run: RunOf<typeof digest>) => {
      this.sent.push(`${run.job} ${run.data.tenantId} ${run.date}`)
    })
    await fleet.start()
    return fleet
  }

  async ends(): Promise<void> {
    await Promise.all(this.fleets.map((fleet) => fleet.stop()))
  }

  private counted(): Store {
    const { store, commits } = this
    return {
      ...store,
      commit: (session, now, changes) => {
        commits.push(...changes)
        return store.commit(session, now, changes)
      },
    }
  }
}
