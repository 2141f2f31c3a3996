import { describe, expect, it } from 'vitest'
import { createFleet, type Fleet, FleetcronError, type JobOptions, type Store } from '../../src/index.js'
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

describe('a visit for one occurrence', () => {
  const THEN = '2001-01-01T00:00:01'

  async function asked(terms: JobOptions, occurrence: string) {
    const fleet = createFleet({
      fleet: 'billing',
      service: 'billing',
      store: createMemoryStore({ fleet: 'billing' }),
      logger: false,
    })
    fleet.job('job', terms, (run) => run.key)
    const one = new Visit(fleet, { job: 'job', occurrence, earlyMs: 0, patienceMs: 60_000 })
    return one.run(never, () => fleet.stop())
  }

  it.each<[JobOptions, RegExp]>([
    [{ cron: '0 0 1 1 *', timeZone: 'UTC' }, /^\d{4}-01-01T00:00Z?$/],
    [{ cron: '0 0 1 1 *', timeZone: 'Europe/Helsinki' }, /^\d{4}-01-01T00:00$/],
    [{ cron: '*/2 * * * * *', timeZone: 'UTC' }, /^\d{4}-.*Z$/],
    [{ every: '1h' }, /^\d{4}-.*Z$/],
    [{ at: '2099-01-01T00:00Z' }, /^2099-01-01T00:00Z$/],
    [{ at: '2001-01-01T00:00', timeZone: 'Europe/Helsinki' }, /^2001-01-01T00:00$/],
  ])('%j: a key that is none is refused with one that is', async (terms, form) => {
    const error = await asked(terms, THEN).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining(`no occurrence '${THEN}'`) })
    const [, example = ''] = /such as (\S+)\.$/.exec((error as Error).message) ?? []
    expect(example).toMatch(form)
    expect((await asked(terms, example)).runs).toEqual([])
  })
})

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
