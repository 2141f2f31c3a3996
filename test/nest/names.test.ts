import 'reflect-metadata'
import { Inject, Injectable, type OnApplicationBootstrap, type Type } from '@nestjs/common'
import { Cron as TheirCron, ScheduleModule as TheirModule } from '@nestjs/schedule'
import { afterEach, describe, expect, it } from 'vitest'
import { Cron, FleetModule, SchedulerRegistry } from '../../src/nest/index.js'
import { fleetOf, Lines, NEVER, OPTIONS, resultOf, startApplication } from './stand.js'

type App = Awaited<ReturnType<typeof startApplication>>
let app: App | null = null
afterEach(async () => {
  await app?.close()
  app = null
})

async function start(providers: Type[], options: object = OPTIONS): Promise<App> {
  app = await startApplication({ imports: [FleetModule.forRoot(options as never)], providers })
  return app
}

@Injectable()
class Reports {
  @Cron(NEVER)
  send() {
    return 'sent'
  }
}

describe('names', () => {
  it('lists the jobs that have none, with the name to paste', async () => {
    const lines = new Lines()
    await start([Reports], { ...OPTIONS })
    expect(lines.of('log', "Reports.send: { name: 'Reports.send' }")).toHaveLength(1)
  })

  it.each(['a', 'Xy', '_a', ''])("refuses the class name '%s' of a job without a name", async (name) => {
    const Minified = { [name]: class extends Reports {} }[name] as Type
    Object.defineProperty(Minified, 'name', { value: name })
    const starting = start([Minified])
    await expect(starting).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('minified'),
    })
  })

  it('takes a class that a compiler called _Reports for Reports', async () => {
    class Copy extends Reports {}
    Object.defineProperty(Copy, 'name', { value: '_Copies' })
    expect(await resultOf(fleetOf(await start([Copy])), 'Copies.send')).toBe('sent')
  })

  it('warns where two instances of one class are one job', async () => {
    const lines = new Lines()
    app = await startApplication({
      imports: [FleetModule.forRoot(OPTIONS)],
      providers: [Reports, { provide: 'AGAIN', useClass: Reports }],
    })
    expect(lines.of('warn', 'Reports is provided more than once')).toHaveLength(1)
  })

  it('refuses two inherited jobs of one explicit name, and names both places', async () => {
    abstract class Base {
      @Cron(NEVER, { name: 'nightly' })
      run() {}
    }
    @Injectable()
    class First extends Base {}
    @Injectable()
    class Second extends Base {}
    await expect(start([First, Second])).rejects.toMatchObject({
      code: 'JOB_DUPLICATE',
      message: expect.stringContaining('First.run and Second.run'),
    })
  })
})

describe('beside @nestjs/schedule', () => {
  @Injectable()
  class Theirs {
    @TheirCron(NEVER, { name: 'theirs' })
    tick() {}
  }

  it.each([{ ...OPTIONS }, {}])('refuses a method of its decorators that nothing runs: %o', async (options) => {
    await expect(start([Theirs], options)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringMatching(/Theirs\.tick.*import \{ Cron, Interval, Timeout \} from 'fleetcron\/nest'/),
    })
  })

  it('leaves it what is its, and says in one warning what runs on every node', async () => {
    const lines = new Lines()
    app = await startApplication({
      imports: [TheirModule.forRoot(), FleetModule.forRoot(OPTIONS)],
      providers: [Theirs, Reports],
    })
    expect(lines.of('warn', 'Theirs.tick: decorated by @nestjs/schedule')).toHaveLength(1)
    expect(await resultOf(fleetOf(app), 'Reports.send')).toBe('sent')
  })

  it.each(['theirs', 'ours'] as const)(
    'gives a provider the registry of the module that its own imports first: %s',
    async (first) => {
      const theirs = TheirModule.forRoot()
      const ours = FleetModule.forRoot(OPTIONS)
      const lists: string[][] = []
      @Injectable()
      class Desk implements OnApplicationBootstrap {
        constructor(@Inject(SchedulerRegistry) private readonly registry: SchedulerRegistry) {}
        onApplicationBootstrap() {
          lists.push([...this.registry.getCronJobs().keys()])
        }
      }
      app = await startApplication({
        imports: first === 'theirs' ? [theirs, ours] : [ours, theirs],
        providers: [Theirs, Reports, Desk],
      })
      expect(lists).toEqual([first === 'theirs' ? ['theirs'] : ['Reports.send']])
    },
  )
})

describe('jobs in the options', () => {
  @Injectable()
  class Invoices {
    @Cron(NEVER, { name: 'daily-invoices', overlap: 'wait' })
    bill() {
      return 'billed'
    }
  }

  it('win over the decorator, by name', async () => {
    const jobs = { 'daily-invoices': { cron: '0 3 * * *', timeZone: 'Europe/Helsinki', overlap: 'merge' } } as const
    const fleet = fleetOf(await start([Invoices], { ...OPTIONS, jobs }))
    const [job] = await fleet.jobs()
    expect(job?.schedule).toMatchObject({ cron: '0 3 * * *', timeZone: 'Europe/Helsinki' })
  })

  it('turn a job off on this node', async () => {
    const fleet = fleetOf(await start([Invoices], { ...OPTIONS, jobs: { 'daily-invoices': { enabled: false } } }))
    await expect(fleet.trigger('daily-invoices')).rejects.toMatchObject({ code: 'JOB_UNKNOWN' })
  })

  it.each([OPTIONS, {}])('are refused where no job has the name, with those that exist: %o', async (options) => {
    const starting = start([Invoices], { ...options, jobs: { 'daily-invoice': { cron: NEVER } } })
    await expect(starting).rejects.toMatchObject({
      code: 'JOB_UNKNOWN',
      message: expect.stringContaining("Did you mean 'daily-invoices'? Known are daily-invoices"),
    })
  })

  it.each<[object, string]>([
    [
      { jobs: { 'daily-invoices': { disabled: true } } },
      "jobs: 'daily-invoices': there is no option 'disabled'. Did you mean `enabled`",
    ],
    [
      { jobs: { 'daily-invoices': { corn: NEVER } } },
      'Did you mean cron? Known are cron, every, at, timeZone, enabled',
    ],
    [{ statup: 'fail' }, 'Did you mean startup? Known are fleet, store'],
    [{ defaults: { scop: 'node' } }, 'Did you mean scope? Known are scope, concurrency'],
  ])('are refused, like those of the module, where nobody knows their words: %o', async (options, words) => {
    await expect(start([Invoices], { ...OPTIONS, ...options })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(words),
    })
  })

  it.each([
    ['in a fleet', OPTIONS],
    ['where every process runs every job', {}],
  ])('are refused %s with a schedule that is there and undefined', async (_, options) => {
    const starting = start([Invoices], { ...options, jobs: { 'daily-invoices': { cron: undefined } } })
    await expect(starting).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining("jobs: 'daily-invoices': cron: it is there and undefined"),
    })
  })

  it('move a timer of this node too', async () => {
    await start([Invoices], { jobs: { 'daily-invoices': { cron: '0 0 3 * * *', enabled: false } } })
    const job = app?.get(SchedulerRegistry).getCronJob('daily-invoices')
    expect(job).toMatchObject({ isActive: false, cronTime: { source: '0 0 3 * * *' } })
  })
})
