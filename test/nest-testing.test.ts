import 'reflect-metadata'
import { Inject, Injectable, Module, type OnModuleInit, Scope } from '@nestjs/common'
import { REQUEST } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Fleet } from '../src/index.js'
import {
  Cron,
  defineHandler,
  FleetHealthIndicator,
  FleetModule,
  type FleetModuleOptions,
  Handler,
  InjectFleet,
  Interval,
  type Run,
  type RunOf,
  Timeout,
} from '../src/nest/index.js'
import { FLEET } from '../src/nest/tokens.js'
import { advance, runJob, useTestFleet } from '../src/testing/index.js'

const digest = defineHandler<{ tenantId: string }>('tenant-digest')
const done: string[] = []
let close: () => Promise<void> = async () => undefined
afterEach(async () => {
  vi.useRealTimers()
  await close()
  done.length = 0
})

@Injectable()
class Invoices {
  @Cron('0 0 * * *', { name: 'daily-invoices', timeZone: 'Europe/Helsinki' })
  invoice(run: Run) {
    done.push(`invoices ${run.date}`)
    return run.date
  }
}

@Injectable()
class Digests implements OnModuleInit {
  constructor(@InjectFleet() private readonly fleet: Fleet) {}

  async onModuleInit() {
    const schedule = { name: 'digest:a', handler: digest, data: { tenantId: 'a' }, cron: '0 8 * * *', timeZone: 'UTC' }
    done.push((await this.fleet.schedules.ensure(schedule)).outcome)
    done.push((await this.fleet.schedules.upsert({ ...schedule, cron: '0 9 * * *' })).outcome)
    done.push((await this.fleet.schedules.upsert(schedule)).outcome)
  }

  @Handler(digest)
  async send(run: RunOf<typeof digest>) {
    done.push(`digest ${run.data.tenantId} ${run.date}`)
  }
}

@Injectable({ scope: Scope.REQUEST })
class Scoped {
  constructor(@Inject(REQUEST) private readonly request: Run) {}
  @Handler(digest)
  send(run: RunOf<typeof digest>) {
    return run.key === this.request.key
  }
}

/** An application whose store is nowhere. */
async function start(
  providers: (new (...given: never[]) => object)[],
  options: Parameters<typeof useTestFleet>[1] = {},
  moduleOptions: FleetModuleOptions = { fleet: 'billing', store: undefined, shutdown: 'sigterm' },
) {
  @Module({ imports: [FleetModule.forRoot(moduleOptions)], providers })
  class AppModule {}
  const builder = Test.createTestingModule({ imports: [AppModule] })
  const module = await useTestFleet(builder, { now: '2026-11-29T12:00:00Z', ...options }).compile()
  const app = module.createNestApplication()
  close = () => app.close()
  await app.init()
  return app
}

describe('useTestFleet', () => {
  it('runs a job of an application whose store is nowhere', async () => {
    const app = await start([Invoices])
    const run = await runJob(app, 'daily-invoices', { date: '2026-11-29' })
    expect(run).toMatchObject({ state: 'succeeded', date: '2026-11-29', result: '"2026-11-29"' })
    await advance(app, '1d')
    expect(done).toEqual(['invoices 2026-11-29', 'invoices 2026-11-30'])
  })

  it('goes on under fake timers, and leaves none behind', async () => {
    vi.useFakeTimers()
    const app = await start([Invoices])
    await advance(app.get<Fleet>(FLEET), '1d')
    expect(done).toEqual(['invoices 2026-11-30'])
    await app.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('leaves the fleet alone until it is needed, where autoStart is false', async () => {
    const app = await start([Invoices], { autoStart: false })
    expect(app.get<Fleet>(FLEET).health()).toBeNull()
    await runJob(app, 'daily-invoices', { date: '2026-11-29' })
    expect(done).toEqual(['invoices 2026-11-29'])
    expect(app.get<Fleet>(FLEET).health()?.state).toBe('running')
  })
})

describe('what runs on every node', () => {
  @Injectable()
  class Caches {
    @Cron('0 0 * * *', { name: 'daily', timeZone: 'Europe/Helsinki', threshold: 500 })
    daily(run: Run) {
      return this.note('daily', run)
    }
    @Cron(new Date('2026-11-29T12:00:20Z'), { name: 'moment' })
    moment(run: Run) {
      this.note('moment', run)
    }
    @Interval('often', 100)
    often(run: Run) {
      if (run.scheduledAt.getTime() % 30_000 === 0) this.note('often', run)
    }
    @Timeout(45_000)
    warmUp(run: Run) {
      this.note('warm-up', run)
    }
    @Cron('* * * * * *', { name: 'off', disabled: true })
    off(run: Run) {
      this.note('off', run)
    }
    private note(name: string, { attempt }: Run) {
      done.push(name)
      if (attempt > 1) throw new Error('a timer tries once')
      return name
    }
  }

  /** The same class in local mode, and in a fleet whose jobs stay on every node. */
  const nodes = [{}, { fleet: 'billing', store: undefined, defaults: { scope: 'node' } }] as const

  it.each(nodes)('is run and goes on with time, by %o, under fake timers, and leaves none behind', async (options) => {
    vi.useFakeTimers()
    const app = await start(
      [Caches],
      {},
      'fleet' in options ? { ...options, jobs: { daily: { cron: '0 1 * * *' } } } : options,
    )
    expect(vi.getTimerCount()).toBe(0)
    await advance(app, '1m')
    expect(done).toEqual(['moment', 'often', 'warm-up', 'often'])
    const run = await runJob(app, 'daily', { date: '2026-11-29' })
    expect(run).toMatchObject({ state: 'succeeded', result: '"daily"', scheduledAt: expect.any(Number) })
    expect(new Date(run.scheduledAt).toISOString()).toBe(`2026-11-2${'fleet' in options ? '8T23' : '8T22'}:00:00.000Z`)
    await expect(runJob(app, 'off')).rejects.toMatchObject({ code: 'JOB_UNKNOWN' })
    await app.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('local mode', () => {
  it('is asked for its fleet in vain under test, too, and says of itself that it is up', async () => {
    const app = await start([Invoices], {}, {})
    await expect(app.get<Fleet>(FLEET).trigger('daily-invoices')).rejects.toMatchObject({ code: 'NOT_STARTED' })
    expect(await app.get(FleetHealthIndicator).isHealthy()).toEqual({ fleet: { status: 'up', mode: 'local' } })
  })

  it('leaves out a request-scoped provider under test, too', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Statements {
      @Cron('0 0 * * *', { name: 'statements' })
      send() {}
    }
    const app = await start([Statements], {}, {})
    await expect(runJob(app, 'statements')).rejects.toMatchObject({ code: 'JOB_UNKNOWN' })
  })

  it('says that there is no fleet to keep schedules', async () => {
    @Module({ imports: [FleetModule.forRoot()], providers: [Digests] })
    class AppModule {}
    const app = (await Test.createTestingModule({ imports: [AppModule] }).compile()).createNestApplication()
    await expect(app.init()).rejects.toMatchObject({
      code: 'NOT_STARTED',
      message: expect.stringContaining('no fleet to ask for schedules.ensure()'),
    })
  })
})

describe('@Handler', () => {
  it('does the work of schedules in the store; those kept at boot bring nothing back', async () => {
    const app = await start([Digests])
    expect(done).toEqual(['created', 'changed', 'refused'])
    await advance(app, '1d')
    expect(done.at(-1)).toBe('digest a 2026-11-30')
  })

  it('stands on a provider of each run, too', async () => {
    const app = await start([Scoped])
    const schedule = { name: 'b', handler: digest, data: { tenantId: 'b' }, cron: '0 8 * * *' }
    await app.get<Fleet>(FLEET).schedules.upsert(schedule)
    expect((await runJob(app, 'schedule/b')).result).toBe('true')
  })

  it('is refused twice, with both places', async () => {
    await expect(start([Digests, Scoped])).rejects.toMatchObject({
      code: 'JOB_DUPLICATE',
      message: expect.stringMatching(/'tenant-digest': .*Digests\.send.*Scoped\.send|Scoped\.send.*Digests\.send/),
    })
  })
})
