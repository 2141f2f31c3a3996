import 'reflect-metadata'
import { Injectable, type Type } from '@nestjs/common'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sqlite } from '../../src/effect/sqlite/index.js'
import { FleetcronError } from '../../src/errors.js'
import { currentRun } from '../../src/fleet/run.js'
import {
  Cron,
  defineHandler,
  FleetModule,
  Handler,
  Interval,
  type Run,
  SchedulerRegistry,
  Timeout,
} from '../../src/nest/index.js'
import { fleetOf, Lines, NEVER, OPTIONS, startApplication } from './stand.js'

type App = Awaited<ReturnType<typeof startApplication>>
let app: App | null = null

async function start(providers: Type[], options: object = OPTIONS): Promise<App> {
  app = await startApplication({ imports: [FleetModule.forRoot(options as never)], providers })
  return app
}

afterEach(async () => {
  vi.useRealTimers()
  await app?.close()
  app = null
})

describe('a job of every node', () => {
  const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] as const
  const START = Date.UTC(2026, 10, 29, 8)
  beforeEach(() => void vi.useFakeTimers({ toFake: [...TIMERS], now: START }))

  class Seen {
    readonly runs: Run[] = []
    note(run: Run) {
      if (currentRun() === run) this.runs.push(run)
    }
  }

  @Injectable()
  class Caches extends Seen {
    @Cron('*/10 * * * * *', { name: 'cache', scope: 'node', timeZone: 'Europe/Helsinki' })
    refresh(run: Run) {
      this.note(run)
    }
    @Cron('1 0 10 * * *', { name: 'fixed', scope: 'node', timeZone: 'Europe/Helsinki' })
    fixed(run: Run) {
      this.note(run)
    }
    @Timeout(3_000)
    warmUp(run: Run) {
      this.note(run)
    }
    @Cron(new Date(START + 5_000))
    at(run: Run) {
      this.note(run)
    }
  }

  it.each([OPTIONS, {}])('is given a run of its own, with %o', async (options) => {
    const { runs } = (await start([Caches], options)).get(Caches)
    await vi.advanceTimersByTimeAsync(21_000)
    expect(runs.map(({ job, key }) => [job, key])).toEqual([
      ['fixed', '2026-11-29T10:00:01'],
      ['Caches.warmUp', '2026-11-29T08:00:03Z'],
      ['Caches.at', '2026-11-29T08:00:05Z'],
      ['cache', '2026-11-29T08:00:10Z'],
      ['cache', '2026-11-29T08:00:20Z'],
    ])
    expect(runs[4]).toMatchObject({
      owned: true,
      attempt: 1,
      cause: 'schedule',
      date: '2026-11-29',
      scheduledAt: new Date(START + 20_000),
      since: new Date(START + 10_000),
      covers: { count: 1 },
    })
    expect(runs[4]?.token).toBeGreaterThan(runs[3]?.token ?? 0)
    expect(runs[4]?.signal.aborted).toBe(false)
    await app?.close()
    expect(runs[4]?.signal.aborted).toBe(true)
  })

  it('makes an effect once by its key, in local mode too', async () => {
    const database = new Database(':memory:')
    database.exec('CREATE TABLE invoice (id INTEGER)')
    @Injectable()
    class Invoices {
      @Interval(1_000, { name: 'invoices' })
      bill(run: Run) {
        return run.once('invoice:1', () => database.exec('INSERT INTO invoice VALUES (1)') && 1)
      }
    }
    await start([Invoices], { effects: sqlite(database) })
    await vi.advanceTimersByTimeAsync(3_000)
    expect(database.prepare('SELECT count(*) FROM invoice').pluck().get()).toBe(1)
    expect(database.prepare('SELECT key FROM fleetcron_effect').pluck().all()).toEqual(['invoice:1'])
  })

  it('has no effects where there is no business database, and says so', async () => {
    @Injectable()
    class Invoices {
      error: unknown = null
      @Interval(1_000)
      async bill(run: Run) {
        this.error = await run.once('invoice:1', () => 1).catch((error) => error)
      }
    }
    const invoices = (await start([Invoices], {})).get(Invoices)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(invoices.error).toMatchObject({ code: 'EFFECT_INVALID', message: expect.stringContaining('Invoices.bill') })
  })
})

describe('which scope', () => {
  @Injectable()
  class Mixed {
    @Cron(NEVER, { name: 'plain' })
    plain() {}
    @Cron(NEVER, { name: 'fleet', scope: 'fleet' })
    fleet() {}
    @Cron(NEVER, { name: 'node', scope: 'node' })
    node() {}
    @Interval(60_000, { name: 'interval' })
    interval() {}
  }

  const ofTheFleet = async () => (await fleetOf(app as App).jobs()).map(({ name }) => name).sort()

  it('is the fleet unless the job says otherwise', async () => {
    await start([Mixed])
    expect(await ofTheFleet()).toEqual(['fleet', 'interval', 'plain'])
  })

  it('is the node where the defaults say so, and the job does not', async () => {
    await start([Mixed], { ...OPTIONS, defaults: { scope: 'node' } })
    expect(await ofTheFleet()).toEqual(['fleet'])
    expect(app?.get(SchedulerRegistry).getIntervals()).toEqual(['interval'])
  })

  it('stands in the table at start, for timers too', async () => {
    @Injectable()
    class More {
      @Cron('0 3 * * *', { name: 'cache', scope: 'node', timeZone: 'Europe/Helsinki' })
      cache() {}
      @Timeout(1_500)
      warmUp() {}
    }
    const lines = new Lines()
    const { logger: _, ...options } = OPTIONS
    await start([Mixed, More], options)
    const [table = ''] = lines.of('log', 'jobs\njob')
    expect(table).toMatch(/\nplain +0 0 29 2 \* +\S+ +2028-02-29T00:00 +fleet +skip\* +merge\*\n/)
    expect(table).toMatch(/\ninterval +every 1m +within 1m +fleet /)
    expect(table).toMatch(/\ncache +0 3 \* \* \* +Europe\/Helsinki +\d{4}-\d\d-\d\dT03:00 +every node\n/)
    expect(table).toMatch(/\nMore\.warmUp +after 1500ms +every node\n/)
    expect(lines.of('log', "fleet 'billing', service ")).toHaveLength(1)
  })

  it('is refused to a timer with a policy of the fleet', async () => {
    @Injectable()
    class Wrong {
      @Cron(NEVER, { name: 'wrong', scope: 'node', overlap: 'wait' } as never)
      run() {}
    }
    await expect(start([Wrong])).rejects.toMatchObject({ message: expect.stringMatching(/'wrong'.*'overlap'/) })
  })

  it.each([
    ['a key', 'release-7', 'release-6'],
    ['a release, where its key is undefined', undefined, 'release-7'],
  ])('lets a timeout of the fleet run once for %s', async (_, key, release) => {
    @Injectable()
    class Once {
      @Timeout(1, { name: 'warm-up', scope: 'fleet', key })
      warmUp() {
        return 'warm'
      }
    }
    await start([Once], { ...OPTIONS, release })
    const settled = await fleetOf(app as App).once('run-settled')
    const again = await fleetOf(app as App).trigger('warm-up', { key: 'timeout:release-7' })
    expect(again.key).toBe(settled.key)
  })

  it.each([
    [{ waitForCompletion: true, overlap: 'wait' }, "overlap says 'wait'"],
    [{ threshold: 500 }, 'write `grace`'],
    [{ unrefTimeout: true }, 'app.close()'],
    [{ timeZone: 'UTC', utcOffset: 60 }, 'exclude each other'],
    [{ utcOffset: 5_000 }, 'minutes east of UTC'],
    [{ overlap: 'forbid' }, "Write 'skip'"],
    [{ overlap: 'BufferOne' }, "Write 'merge'"],
    [{ noOverlap: true }, "overlap: 'skip'"],
    [{ timezone: 'UTC' }, 'timeZone'],
    [{ cron: NEVER }, "Did you mean the decorator's first argument?"],
    [{ ovrelap: 'wait' }, 'Did you mean overlap?'],
    [{ nothing: 1 }, "job 'wrong' (Wrong.run): there is no option 'nothing'. Known are name, scope, id, timeZone,"],
  ])('refuses %o in a fleet with the word to use', async (options, word) => {
    @Injectable()
    class Wrong {
      @Cron(NEVER, { name: 'wrong', ...options } as never)
      run() {}
    }
    await expect(start([Wrong])).rejects.toThrow(word)
    await expect(start([Wrong])).rejects.toBeInstanceOf(FleetcronError)
  })

  it.each([
    [120, '+02:00'],
    [-330, '-05:30'],
    ['+05:45', '+05:45'],
    [0, '+00:00'],
  ])('takes the offset %o for the zone %s', async (utcOffset, zone) => {
    @Injectable()
    class Fixed {
      @Cron('0 3 * * *', { name: 'fixed', utcOffset })
      run() {}
    }
    await start([Fixed])
    const [job] = await fleetOf(app as App).jobs()
    expect(job?.schedule).toMatchObject({ timeZone: zone })
  })

  it('says in local mode which options nobody knows, and goes on as @nestjs/schedule does', async () => {
    const lines = new Lines()
    @Injectable()
    class Wrong {
      @Cron(NEVER, { name: 'wrong', timezone: 'UTC' } as never)
      run() {}
    }
    await start([Wrong], {})
    expect(lines.of('warn', "there is no option 'timezone'. Did you mean timeZone?")).toHaveLength(1)
    expect(app?.get(SchedulerRegistry).getCronJob('wrong')).toBeDefined()
  })

  it.each([OPTIONS, {}])('refuses a schedule that is not there, with %o', async (options) => {
    const missing = undefined as never
    @Injectable()
    class Expression {
      @Cron(missing, { name: 'wrong' })
      run() {}
    }
    @Injectable()
    class Period {
      @Interval('wrong', missing)
      run() {}
    }
    await expect(start([Expression], options)).rejects.toThrow('@Cron is given undefined in place of an expression')
    await expect(start([Period], options)).rejects.toThrow('@Interval is given undefined in place of milliseconds')
  })

  it('says in local mode which handlers nothing calls', async () => {
    const lines = new Lines()
    @Injectable()
    class Digests {
      @Handler(defineHandler<{ tenantId: string }>('tenant-digest'))
      send() {}
    }
    await start([Digests], {})
    expect(lines.of('warn', 'Digests.send: schedules kept in the store need a fleet')).toHaveLength(1)
  })

  it('says in local mode what has no effect there', async () => {
    const lines = new Lines()
    @Injectable()
    class Invoices {
      @Cron(NEVER, { name: 'daily', retry: 3 })
      bill() {}
    }
    await start([Invoices], {})
    expect(lines.of('log', 'local mode')).toEqual([expect.stringContaining('of no effect here: daily: retry')])
  })
})
