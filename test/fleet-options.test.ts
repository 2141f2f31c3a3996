import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { DEFAULTS, type JobOptions, resolveJob } from '../src/fleet/job-options.js'
import { FLEET_DEFAULTS, type FleetOptions, resolveFleet } from '../src/fleet/options.js'
import { createFleet } from '../src/index.js'
import { createMemoryStore } from '../src/store/memory/index.js'

const around = { defaults: {}, timeZone: undefined, processTimeZone: 'Europe/Helsinki' }
const surroundings = {
  label: 'host#1',
  packageName: '@shop/billing',
  timeZone: 'UTC',
  zoneData: '2026a',
  storeVariable: undefined,
}
const silent = { info: () => {}, warn: () => {}, error: () => {} }

const resolve = (options: object) => resolveJob('it', options as JobOptions, around)
const fleetOf = (options: object, more: object = {}) =>
  resolveFleet(options as FleetOptions, { ...surroundings, ...more }, silent)

describe('the options of a job', () => {
  it('have one set of defaults', () => {
    const { definition, defaulted, id, zoneDefaulted, disabled } = resolve({ cron: '0 0 * * *' })
    expect(definition).toEqual({
      schedule: { cron: '0 0 * * *', timeZone: 'Europe/Helsinki', dstGap: 'next' },
      ...DEFAULTS,
    })
    expect([id, zoneDefaulted, disabled]).toEqual(['it', true, false])
    expect(defaulted).toContain('overlap')
  })

  it('are resolved from texts, numbers and shorthands', () => {
    const { definition } = resolve({
      every: '15m',
      timeout: '5m',
      grace: 90_000,
      retry: { limit: 3, delay: '2s', factor: 3, maxDelay: '1m' },
      recover: 0,
      catchUp: { policy: 'each', within: '7d', most: 5 },
      overlap: 'merge',
      concurrency: 2,
      queue: 0,
      pauseAfter: 5,
      fence: false,
    })
    expect(definition).toEqual({
      schedule: { every: 900_000 },
      timeoutMs: 300_000,
      graceMs: 90_000,
      recover: 0,
      overlap: 'merge',
      concurrency: 2,
      queue: 0,
      retry: { limit: 3, delayMs: 2_000, factor: 3, maxDelayMs: 60_000 },
      catchUp: { policy: 'each', withinMs: 604_800_000, most: 5 },
      pauseAfter: 5,
      fence: false,
    })
    expect(resolve({ retry: 2, catchUp: 'skip', timeout: null, pauseAfter: null }).definition).toMatchObject({
      schedule: null,
      retry: { ...DEFAULTS.retry, limit: 2 },
      catchUp: { policy: 'skip' },
      timeoutMs: null,
      pauseAfter: null,
    })
  })

  it('take what is undefined for what is not there', () => {
    expect(resolve({ overlap: undefined, id: undefined }).definition).toEqual({ schedule: null, ...DEFAULTS })
    expect(resolve({ cron: undefined, every: '1m' }).definition.schedule).toEqual({ every: 60_000 })
  })

  it("go before the fleet's defaults and zone, which go before ours and the process's", () => {
    const own = resolveJob(
      'it',
      { cron: '0 0 * * *', overlap: 'wait' },
      {
        defaults: { overlap: 'merge', recover: 7 },
        timeZone: 'Asia/Tokyo',
        processTimeZone: 'UTC',
      },
    )
    expect(own.definition).toMatchObject({ overlap: 'wait', recover: 7, schedule: { timeZone: 'Asia/Tokyo' } })
    expect(own.zoneDefaulted).toBe(false)
    expect([...own.defaulted]).not.toContain('recover')
  })

  it.each<[object, string]>([
    [{ timezone: 'UTC' }, "there is no option 'timezone'. Did you mean timeZone? Known are id, cron, every"],
    [{ tz: 'UTC' }, 'Did you mean timeZone?'],
    [{ noOverlap: true }, "Did you mean overlap: 'skip'?"],
    [{ concurrencyPolicy: 'Forbid' }, 'Did you mean overlap?'],
    [{ attempts: 3 }, 'Did you mean retry?'],
    [{ OVERLAP: 'skip' }, 'Did you mean overlap?'],
    [{ ovelap: 'skip' }, 'Did you mean overlap?'],
    [{ time_zone: 'UTC' }, 'Did you mean timeZone?'],
    [{ corn: '* * * * *' }, 'Did you mean cron?'],
    [{ something: 1 }, "there is no option 'something'. Known are"],
    [{ overlap: 'marge' }, "Did you mean 'merge'?"],
    [{ cron: undefined }, "job 'it': cron: it is there and undefined, so the job would never run by itself"],
    [{ every: undefined, at: undefined }, 'every: it is there and undefined'],
    [{ constructor: 1 }, "there is no option 'constructor'. Known are"],
    [{ overlap: 'forbid' }, "'forbid' is not one of 'skip', 'wait', 'merge', 'replace'. Write 'skip'"],
    [{ overlap: 'BufferOne' }, "Write 'merge'"],
    [{ overlap: 'BufferAll' }, "Write 'wait'"],
    [{ overlap: 'Allow' }, 'raise concurrency'],
    [{ overlap: 'constructor' }, "'constructor' is not one of"],
    [{ catchUp: 'all' }, "Write { policy: 'each', within: '7d' }"],
    [{ catchUp: 'latest' }, "Write 'merge'"],
    [{ catchUp: 'each' }, "'each' has to say how far back it goes"],
    [{ catchUp: { policy: 'each' } }, "'each' has to say how far back it goes"],
    [{ catchUp: { policy: 'merge', until: '1d' } }, "there is no option 'until'. Known are policy, within, most"],
    [{ catchUp: { policy: 'merge', most: 0 } }, 'from 1 to 1000'],
    [{ retry: { attempts: 3 } }, 'Did you mean limit?'],
    [{ retry: -1 }, '-1 is not a whole number from 0'],
    [{ retry: { limit: 1, factor: 0.5 } }, 'from 1 to 100'],
    [
      { resource: 'stock', concurrency: 2 },
      'a named resource is for a job with one place, and this one has concurrency 2',
    ],
    [{ resource: 'stock', fence: false }, 'Leave one of the two away'],
    [{ resource: '' }, 'not a text of 1 to 640 characters'],
    [{ concurrency: 0 }, 'concurrency: 0 is not a whole number from 1'],
    [{ concurrency: 1.5 }, 'not a whole number'],
    [{ queue: -1 }, 'queue'],
    [{ timeout: '5 minutes' }, "'minutes' is not a unit"],
    [{ timeout: 0 }, 'out of range'],
    [{ grace: '500d' }, 'out of range'],
    [
      { grace: 0, catchUp: 'skip' },
      "job 'it': grace: '0' is too short: every occurrence is attended some milliseconds after",
    ],
    [{ grace: '999ms' }, "so none would be in time. Write at least '1s'."],
    [{ pauseAfter: 0 }, 'pauseAfter'],
    [{ fence: 'yes' }, "'yes' is neither true nor false"],
    [{ disabled: 1 }, 'neither true nor false'],
    [{ id: '' }, 'not a text of 1 to 200'],
  ])('refuse %j', (options, words) => {
    expect(() => resolve(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(() => resolve(options)).toThrow(words)
  })

  it.each<[object, string, string]>([
    [{ cron: '99 * * * *' }, 'SCHEDULE_INVALID', '99 * * * *'],
    [{ cron: '* * * * *', every: '1m' }, 'SCHEDULE_INVALID', 'cron and every'],
    [{ cron: '* * * * *', timeZone: 'Mars/Olympus' }, 'ZONE_UNKNOWN', 'Mars/Olympus'],
    ...['Mars/Olympus', '', ' UTC ', ' Europe/Paris '].flatMap((timeZone): [object, string, string][] => [
      [{ cron: '* * * * *', timeZone }, 'ZONE_UNKNOWN', `Time zone '${timeZone}'`],
      [{ every: '15m', timeZone }, 'ZONE_UNKNOWN', `Time zone '${timeZone}'`],
      [{ at: '2026-11-29T07:00Z', timeZone }, 'ZONE_UNKNOWN', `Time zone '${timeZone}'`],
      [{ timeZone }, 'ZONE_UNKNOWN', `Time zone '${timeZone}'`],
    ]),
    [{ every: '15m', dstGap: 'bogus' }, 'OPTION_INVALID', "dstGap: 'bogus' is not one of 'next', 'skip'"],
    [{ dstGap: 'bogus' }, 'OPTION_INVALID', "dstGap: 'bogus' is not one of"],
    [{ cron: '* * * * *', dstGap: 'bogus' }, 'OPTION_INVALID', "dstGap: 'bogus' is not one of"],
    [{ every: 10 }, 'SCHEDULE_INVALID', 'at least 1s'],
    [{ every: 'soon' }, 'OPTION_INVALID', 'every'],
    [{ at: 'soon' }, 'SCHEDULE_INVALID', 'at'],
  ])('refuse %j as %s, and name the job', (options, code, words) => {
    expect(() => resolve(options)).toThrow(expect.objectContaining({ code }))
    expect(() => resolve(options)).toThrow(words)
    expect(() => resolve(options)).toThrow(/^job 'it': /)
  })
})

describe('the options of a fleet', () => {
  it('have one set of defaults', () => {
    const { store, defaults, logger, ...rest } = fleetOf({ fleet: 'billing', store: 'memory:' })
    expect(rest).toEqual({
      fleet: 'billing',
      service: '@shop/billing',
      serviceDefaulted: true,
      label: 'host#1',
      ...FLEET_DEFAULTS,
      timeZone: undefined,
      release: null,
      effects: null,
    })
    expect([store, defaults, logger]).toEqual(['memory:', {}, silent])
  })

  it.each<[object, string, string]>([
    [
      { fleet: 'billing', store: undefined },
      'STORE_MISSING',
      "fleet 'billing' has no store: `store` is undefined. Is the variable set",
    ],
    [{ fleet: 'billing', store: '' }, 'STORE_MISSING', '`store` is empty'],
    [{ fleet: 'billing' }, 'STORE_MISSING', 'set FLEETCRON_STORE'],
    [{ store: 'memory:' }, 'OPTION_INVALID', 'fleet'],
    [{ fleet: 'b', store: 7 }, 'OPTION_INVALID', "write a URL such as 'sqlite:./ledger.db'"],
    [{ fleet: 'b', store: null }, 'OPTION_INVALID', 'write a URL'],
    [{ fleet: 'b', store: 'memory:', redis: {} }, 'OPTION_INVALID', 'Did you mean store?'],
    [{ fleet: 'b', store: 'memory:', timezone: 'UTC' }, 'OPTION_INVALID', 'Did you mean timeZone?'],
    [
      { fleet: 'b', store: 'memory:', logger: 'x' },
      'OPTION_INVALID',
      "fleet 'b': logger: pass an object with the functions",
    ],
    [
      { fleet: 'b', store: 'memory:', logger: true },
      'OPTION_INVALID',
      'info, warn and error, such as console, or false',
    ],
    [{ fleet: 'b', store: 'memory:', logger: { warn() {} } }, 'OPTION_INVALID', "fleet 'b': logger: "],
    [
      { fleet: 'b', store: 'memory:', clock: 5 },
      'OPTION_INVALID',
      "fleet 'b': clock: pass an object with the functions wall",
    ],
    [{ fleet: 'b', store: 'memory:', clock: { wall: Date.now } }, 'OPTION_INVALID', "fleet 'b': clock: "],
    [{ fleet: 'b', store: 'memory:', clock: null }, 'OPTION_INVALID', "fleet 'b': clock: "],
    [{ fleet: 'b', store: 'memory:', timeZone: 'Mars/Olympus' }, 'ZONE_UNKNOWN', "fleet 'b': timeZone: "],
    [{ fleet: 'b', store: 'memory:', timeZone: '' }, 'ZONE_UNKNOWN', "fleet 'b': timeZone: "],
    [{ fleet: 'b', store: 'memory:', timeZone: ' UTC ' }, 'ZONE_UNKNOWN', "fleet 'b': timeZone: "],
    [{ fleet: 'b', store: 'memory:', autoMigrate: 'no' }, 'OPTION_INVALID', 'neither true nor false'],
    [{ fleet: 'b', store: 'memory:', synchronize: false }, 'OPTION_INVALID', 'Did you mean autoMigrate?'],
    [
      { fleet: 'b', store: createMemoryStore({ fleet: 'b' }), autoMigrate: false },
      'OPTION_INVALID',
      'give autoMigrate to what makes it',
    ],
    [{ fleet: 'b', store: 'memory:', lease: '10ms' }, 'OPTION_INVALID', 'lease'],
    [{ fleet: 'b', store: 'memory:', maxRuns: 0 }, 'OPTION_INVALID', 'maxRuns'],
    [{ fleet: 'b', store: 'memory:', service: 'a:b' }, 'OPTION_INVALID', 'has a colon'],
    [{ fleet: 'b', store: 'memory:', effects: {} }, 'OPTION_INVALID', 'pass what an adapter gives'],
    [{ fleet: 'b', store: 'memory:', defaults: { overlap: 'queue' } }, 'OPTION_INVALID', "Write 'wait'"],
    [{ fleet: 'b', store: 'memory:', defaults: { cron: '* * * * *' } }, 'OPTION_INVALID', "there is no option 'cron'"],
  ])('refuse %j', (options, code, words) => {
    expect(() => fleetOf(options)).toThrow(expect.objectContaining({ code }))
    expect(() => fleetOf(options)).toThrow(words)
  })

  it('read the variable only where the store is not named at all', () => {
    const variable = { storeVariable: 'sqlite:./there.db' }
    expect(fleetOf({ fleet: 'b' }, variable).store).toBe('sqlite:./there.db')
    expect(fleetOf({ fleet: 'b', store: 'memory:' }, variable).store).toBe('memory:')
    expect(() => fleetOf({ fleet: 'b', store: undefined }, variable)).toThrow('`store` is undefined')
  })

  it("make up a service's name where there is no package.json", () => {
    expect(fleetOf({ fleet: 'b', store: 'memory:' }, { packageName: null }).service).toBe('app')
  })
})

describe('createFleet', () => {
  afterEach(() => vi.unstubAllEnvs())

  it('makes no table where autoMigrate is off: it waits, and says which command is missing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetcron-'))
    const store = `sqlite:${join(folder, 'ledger.db')}`
    const options = { fleet: 'b', service: 's', store, nodeLabel: 'n' }
    let heard: (error: unknown) => void = () => {}
    const said = new Promise((resolve) => {
      heard = resolve
    })
    const logger = { ...silent, error: (_: string, facts?: Readonly<Record<string, unknown>>) => heard(facts?.error) }
    const waiting = createFleet({ ...options, autoMigrate: false, logger })
    try {
      const started = waiting.start()
      expect(await said).toContain(`run fleetcron migrate --store ${store}`)
      const other = createFleet({ ...options, logger: false })
      await other.start()
      await other.stop()
      await started
    } finally {
      await waiting.stop()
      rmSync(folder, { recursive: true })
    }
  })

  it('reads FLEETCRON_STORE and package.json where nothing else is said', () => {
    expect(() => createFleet({ fleet: 'b' })).toThrow('has no store')
    vi.stubEnv('FLEETCRON_STORE', 'memory:')
    expect(createFleet({ fleet: 'b' }).name).toBe('b')
  })

  it('refuses two jobs of one name or id, and what is no handler', () => {
    const fleet = createFleet({ fleet: 'b', store: createMemoryStore() })
    fleet.job('one', {}, () => {})
    expect(() => fleet.job('one', {}, () => {})).toThrow("two jobs named 'one'")
    expect(() => fleet.job('two', { id: 'one' }, () => {})).toThrow("'one' and 'two', both with the id 'one'")
    expect(() => fleet.job('three', {}, undefined as never)).toThrow('its handler is not a function')
  })

  it('can be asked for nothing before it is started', async () => {
    const fleet = createFleet({ fleet: 'b', store: createMemoryStore() })
    await expect(fleet.trigger('one')).rejects.toMatchObject({ code: 'NOT_STARTED' })
    await expect(fleet.runs()).rejects.toMatchObject({ code: 'NOT_STARTED' })
    expect(fleet.health()).toBe(null)
    expect(() => fleet.effects).toThrow('has no business database')
  })
})
