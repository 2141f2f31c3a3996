import { describe, expect, it } from 'vitest'
import { createFleet, type Fleet, FleetcronError, type Store } from '../../src/index.js'
import { Visit } from '../../src/platform/due.js'
import { createMemoryStore } from '../../src/store/memory/index.js'

const never = new Promise<never>(() => undefined)

/** A store of which some calls fail, as over a bad network. */
function failing(fails: (call: string) => boolean): Store {
  const store = createMemoryStore({ fleet: 'billing' })
  return new Proxy(store, {
    get: (target, name) => {
      const method = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return async (...args: unknown[]) => {
        if (fails(String(name))) throw new FleetcronError('STORE_UNAVAILABLE', 'Nobody listens.')
        return method.apply(target, args)
      }
    },
  })
}

function visit(store: Store, patienceMs: number): { fleet: Fleet; visit: Visit } {
  const fleet = createFleet({ fleet: 'billing', service: 'billing', store, logger: false })
  fleet.job('often', { cron: '* * * * * *', timeZone: 'UTC' }, (run) => run.key)
  const request = { job: 'often', occurrence: null, earlyMs: 60_000, patienceMs }
  return { fleet, visit: new Visit(fleet, request) }
}

describe('a visit whose store is away', () => {
  it('for a moment: asks again', async () => {
    let failures = 0
    const { fleet, visit: one } = visit(
      failing((call) => ['jobs', 'runs'].includes(call) && failures++ < 3),
      60_000,
    )
    const { runs } = await one.run(never, () => fleet.stop())
    expect(runs[0]).toMatchObject({ state: 'succeeded' })
    expect(failures).toBeGreaterThan(3)
  })

  it('for good, if only for one question: gives up after its patience, and stops', async () => {
    const { fleet, visit: one } = visit(
      failing((call) => call === 'jobs'),
      500,
    )
    await expect(one.run(never, () => fleet.stop())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(fleet.health()?.state).toBe('stopped')
  })
})
