import 'reflect-metadata'
import { Controller, Get, Injectable, Module, type ModuleMetadata, type OnModuleInit } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { afterEach, describe, expect, it } from 'vitest'
import { FleetcronError } from '../../src/errors.js'
import type { Fleet } from '../../src/fleet/fleet.js'
import {
  Cron,
  defineHandler,
  FleetHealthIndicator,
  FleetModule,
  Handler,
  InjectEffects,
  InjectFleet,
  SchedulerRegistry,
} from '../../src/nest/index.js'
import { createMemoryStore } from '../../src/store/memory/index.js'
import type { Store } from '../../src/store/port.js'
import { fleetOf, Lines, NEVER, OPTIONS, resultOf, startApplication } from './stand.js'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

async function start(metadata: ModuleMetadata, options: object = OPTIONS) {
  const { imports = [] } = metadata
  const app = await startApplication({ ...metadata, imports: [FleetModule.forRoot(options as never), ...imports] })
  open.push(app)
  return app
}

/** A store that cannot be opened until it is back. */
function storeThatIsAway() {
  const store = createMemoryStore()
  let isAway = true
  const guarded = new Proxy(store, {
    get(target, key) {
      if (key !== 'open') return Reflect.get(target, key, target)
      return async () => {
        if (isAway) throw new FleetcronError('STORE_UNAVAILABLE', 'nobody listens')
        return target.open()
      }
    },
  }) as Store
  return {
    store: guarded,
    back: () => {
      isAway = false
    },
  }
}

@Injectable()
class Reports {
  @Cron(NEVER, { name: 'report' })
  send() {
    return 'sent'
  }
}

describe('a store that is away at start', () => {
  it('does not keep the application from starting; health and commands tell, and the fleet starts later', async () => {
    const { store, back } = storeThatIsAway()
    const lines = new Lines()
    const app = await start({ providers: [Reports] }, { ...OPTIONS, store })
    const health = app.get(FleetHealthIndicator)
    expect(await health.isHealthy('jobs')).toMatchObject({ jobs: { status: 'down', error: 'nobody listens', runs: 0 } })
    expect(lines.of('warn', 'The application starts without its jobs')).toHaveLength(1)
    await expect(fleetOf(app).trigger('report')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const started = fleetOf(app).once('started')
    back()
    await started
    expect(await resultOf(fleetOf(app), 'report')).toBe('sent')
    expect(await health.isHealthy('jobs')).toMatchObject({ jobs: { status: 'up', state: 'running' } })
  })

  it("ends the start where the options say startup: 'fail'", async () => {
    const { store } = storeThatIsAway()
    const starting = start({ providers: [Reports] }, { ...OPTIONS, store, startup: 'fail' })
    await expect(starting).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

describe('whether a fleet is meant', () => {
  it.each([
    [{ fleet: 'billing', store: undefined }, 'STORE_MISSING', "fleet 'billing' has no store"],
    [{ store: undefined }, 'OPTION_INVALID', 'needs a fleet'],
    [{ store: 'memory:' }, 'OPTION_INVALID', 'needs a fleet'],
    [{ fleet: undefined }, 'OPTION_INVALID', 'needs a fleet'],
    [{ lease: '30s' }, 'OPTION_INVALID', 'a fleet, which needs `fleet` and `store`'],
  ])('is never guessed: %o', async (options, code, words) => {
    await expect(start({}, options)).rejects.toMatchObject({ code, message: expect.stringContaining(words) })
  })

  it('is said by whoever asks a fleet that is not there', async () => {
    @Injectable()
    class Desk {
      constructor(
        @InjectFleet() readonly fleet: Fleet,
        @InjectEffects() readonly effects: Fleet['effects'],
      ) {}
    }
    const { fleet, effects } = (await start({ providers: [Desk] }, {})).get(Desk)
    await expect(fleet.trigger('report')).rejects.toMatchObject({ code: 'NOT_STARTED' })
    await expect(effects.once('key', () => 1)).rejects.toMatchObject({ code: 'EFFECT_INVALID' })
    expect(fleet.health()).toBeNull()
  })
})

describe('commands', () => {
  it('work from onModuleInit on, and their handlers wait until the application is up', async () => {
    const order: string[] = []
    @Injectable()
    class Early implements OnModuleInit {
      constructor(@InjectFleet() private readonly fleet: Fleet) {}
      async onModuleInit() {
        await this.fleet.trigger('early')
        order.push('triggered')
      }
      onApplicationBootstrap() {
        order.push('up')
      }
      @Cron(NEVER, { name: 'early' })
      run() {
        order.push('run')
      }
    }
    const app = await start({ providers: [Early] })
    const [run] = await fleetOf(app).runs({ job: 'early' })
    if (run === undefined) throw new Error('there is no run')
    await fleetOf(app).finished(run)
    expect(order).toEqual(['triggered', 'up', 'run'])
  })

  it('that start the fleet early do not let schedules of an earlier release come back', async () => {
    const digest = defineHandler('digest')
    const outcomes: string[] = []
    const terms = { name: 'a', handler: digest, cron: '0 8 * * *', timeZone: 'UTC' }
    const changed = { ...terms, cron: '0 9 * * *' }
    @Injectable()
    class Early implements OnModuleInit {
      constructor(@InjectFleet() private readonly fleet: Fleet) {}
      async onModuleInit() {
        await this.fleet.trigger('early')
        for (const schedule of [terms, changed, terms]) {
          outcomes.push((await this.fleet.schedules.upsert(schedule)).outcome)
        }
      }
      @Cron(NEVER, { name: 'early' })
      run() {}
      @Handler(digest)
      send() {}
    }
    const fleet = fleetOf(await start({ providers: [Early] }))
    expect(outcomes).toEqual(['created', 'changed', 'refused'])
    expect((await fleet.schedules.upsert(terms)).outcome).toBe('changed')
  })

  it('are refused while the application is put together', async () => {
    const made = {
      provide: 'MADE',
      inject: [Symbol.for('fleetcron/nest/fleet')],
      useFactory: (fleet: Fleet) => fleet.jobs(),
    }
    await expect(start({ providers: [made] })).rejects.toMatchObject({ code: 'NOT_STARTED' })
  })
})

describe('the registry', () => {
  it('shows a job of the fleet, and refuses to move it with the verb of the fleet', async () => {
    const app = await start({ providers: [Reports] })
    const registry = app.get(SchedulerRegistry)
    const job = registry.getCronJob('report')
    expect([...registry.getCronJobs().keys()]).toEqual(['report'])
    expect(job.isActive).toBe(true)
    expect(job.lastDate()).toBeNull()
    expect(job.nextDate().toFormat('dd.MM.')).toBe('29.02.')
    expect(job.nextDates(2)).toHaveLength(2)
    expect(() => job.start()).toThrow("fleet.resume('report')")
    expect(() => registry.deleteCronJob('report')).toThrow("fleet.pause('report')")
    expect(() => job.setTime(job.cronTime)).toThrow('expression')
    await expect(job.fireOnTick()).rejects.toThrow("fleet.trigger('report')")
    await resultOf(fleetOf(app), 'report')
    expect(job.lastDate()).toBeInstanceOf(Date)
  })
})

describe('@nestjs/terminus', () => {
  it('takes what the indicator says', async () => {
    const app = await start({ imports: [TerminusModule], providers: [Reports] })
    const indicator = app.get(FleetHealthIndicator)
    const result = await app.get(HealthCheckService).check([() => indicator.isHealthy('fleet')])
    expect(result).toMatchObject({ status: 'ok', details: { fleet: { status: 'up', runs: 0 } } })
    await fleetOf(app).stop()
    const check = app.get(HealthCheckService).check([() => indicator.isHealthy('fleet')])
    await expect(check).rejects.toMatchObject({ response: { status: 'error', details: { fleet: { status: 'down' } } } })
  })

  it('is told that local mode is up', async () => {
    const app = await start({}, {})
    expect(await app.get(FleetHealthIndicator).isHealthy()).toEqual({ fleet: { status: 'up', mode: 'local' } })
  })
})

describe('applications', () => {
  it('may be two in one process, one run each time', async () => {
    const store = createMemoryStore()
    const [one, two] = [
      await start({ providers: [Reports] }, { ...OPTIONS, store }),
      await start({ providers: [Reports] }, { ...OPTIONS, store }),
    ]
    const run = await fleetOf(one).trigger('report', { key: 'the same' })
    expect((await fleetOf(two).trigger('report', { key: 'the same' })).key).toBe(run.key)
    await fleetOf(two).finished(run)
    expect(await fleetOf(two).runs({ job: 'report' })).toHaveLength(1)
  })

  it('may be replaced in one process, as hot reload does without closing: still one run for each occurrence (F70)', async () => {
    const store = createMemoryStore()
    let calls = 0
    @Injectable()
    class Ticks {
      @Cron('* * * * * *', { name: 'tick' })
      tick() {
        calls += 1
      }
    }
    const apps = [1, 2, 3].map(() => start({ providers: [Ticks] }, { ...OPTIONS, store }))
    const fleet = fleetOf((await Promise.all(apps))[0] as never)
    await fleet.once('attended')
    while (calls < 2) await Promise.race((await Promise.all(apps)).map((app) => fleetOf(app).once('run-settled')))
    const runs = await fleet.runs({ job: 'tick' })
    expect(new Set(runs.map(({ key }) => key)).size).toBe(runs.length)
    expect(calls).toBeLessThanOrEqual(runs.length)
  })

  it('may serve HTTP by Express', async () => {
    @Controller()
    class Desk {
      constructor(@InjectFleet() private readonly fleet: Fleet) {}
      @Get('run')
      run() {
        return resultOf(this.fleet, 'report')
      }
    }
    @Module({ imports: [FleetModule.forRoot(OPTIONS)], controllers: [Desk], providers: [Reports] })
    class Web {}
    const app = await NestFactory.create(Web, { logger: false })
    open.push(app)
    await app.listen(0, '127.0.0.1')
    const answer = await fetch(`${await app.getUrl()}/run`)
    expect(await answer.text()).toBe('sent')
  })
})
