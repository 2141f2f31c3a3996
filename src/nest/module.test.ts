import 'reflect-metadata'
import { Inject, Injectable, Module, type ModuleMetadata, Scope, type Type } from '@nestjs/common'
import { DiscoveryService, NestFactory, REQUEST } from '@nestjs/core'
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule'
import { afterEach, describe, expect, it } from 'vitest'
import type { Fleet } from '../fleet/fleet.js'
import { Cron, FleetModule, type FleetModuleOptions, InjectFleet, type Run } from './index.js'
import { FLEET } from './tokens.js'

const NEVER = '0 0 29 2 *'
const OPTIONS: FleetModuleOptions = { fleet: 'billing', store: 'memory:', logger: false }

let close: () => Promise<unknown> = async () => undefined
afterEach(() => close())

/** A real application without a web server. */
async function start(metadata: ModuleMetadata) {
  @Module(metadata)
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false })
  close = () => app.close()
  return app
}

function startWith(providers: Type[], options = OPTIONS) {
  return start({ imports: [FleetModule.forRoot(options)], providers })
}

/** Triggers a job and gives what its handler returned. */
async function resultOf(fleet: Fleet, job: string): Promise<unknown> {
  const settled = fleet.once('run-settled', ({ run }) => run.job.endsWith(`:${job}`))
  await fleet.trigger(job)
  const { run } = await settled
  return run.result === null ? run.error : JSON.parse(run.result)
}

describe('@Cron', () => {
  it('gives the fleet a job that runs the method of the instance', async () => {
    @Injectable()
    class Invoices {
      private readonly rate = 3
      @Cron(NEVER, { name: 'daily-invoices' })
      bill(run: Run) {
        return { rate: this.rate, job: run.job, cause: run.cause }
      }
    }
    const app = await startWith([Invoices])
    expect(await resultOf(app.get(FLEET), 'daily-invoices')).toEqual({
      rate: 3,
      job: 'daily-invoices',
      cause: 'manual',
    })
  })

  it('names a job after its class and method', async () => {
    @Injectable()
    class Invoices {
      @Cron(NEVER)
      bill() {
        return 'billed'
      }
    }
    const app = await startWith([Invoices])
    expect(await resultOf(app.get(FLEET), 'Invoices.bill')).toBe('billed')
  })

  it('counts for each class that inherits it, under the name of that class, unless it overrides the method', async () => {
    abstract class Report {
      @Cron(NEVER)
      send() {
        return this.title()
      }
      abstract title(): string
    }
    @Injectable()
    class Sales extends Report {
      title() {
        return 'sales'
      }
    }
    @Injectable()
    class Stock extends Report {
      title() {
        return 'stock'
      }
    }
    @Injectable()
    class Silent extends Stock {
      override send() {
        return `never: ${super.send()}`
      }
    }
    const app = await startWith([Sales, Stock, Silent])
    expect(await resultOf(app.get(FLEET), 'Sales.send')).toBe('sales')
    expect(await resultOf(app.get(FLEET), 'Stock.send')).toBe('stock')
    expect([...app.get(SchedulerRegistry).getCronJobs().keys()]).toEqual(['Sales.send', 'Stock.send'])
  })

  it('is lost neither above nor below a decorator that replaces the method', async () => {
    const wrapped = (_target: object, _method: string, descriptor: PropertyDescriptor) => {
      const inner = descriptor.value
      descriptor.value = () => `wrapped ${inner()}`
    }
    @Injectable()
    class Invoices {
      @Cron(NEVER, { name: 'above' })
      @wrapped
      above() {
        return 'above'
      }
      @wrapped
      @Cron(NEVER, { name: 'below' })
      below() {
        return 'below'
      }
    }
    const app = await startWith([Invoices])
    expect(await resultOf(app.get(FLEET), 'above')).toBe('wrapped above')
    expect(await resultOf(app.get(FLEET), 'below')).toBe('wrapped below')
  })

  it('may stand on one method twice', async () => {
    @Injectable()
    class Invoices {
      @Cron(NEVER, { name: 'leap' })
      @Cron('0 0 1 1 *', { name: 'new-year' })
      bill(run: Run) {
        return run.job
      }
    }
    const app = await startWith([Invoices])
    expect(await resultOf(app.get(FLEET), 'leap')).toBe('leap')
    expect(await resultOf(app.get(FLEET), 'new-year')).toBe('new-year')
  })

  it('resolves a request-scoped provider for each run, with the run as its request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Invoices {
      constructor(@Inject(REQUEST) private readonly request: Run) {}
      @Cron(NEVER, { name: 'scoped' })
      bill(run: Run) {
        return { same: run === this.request, key: this.request.key }
      }
    }
    const fleet = (await startWith([Invoices])).get<Fleet>(FLEET)
    const first = await resultOf(fleet, 'scoped')
    const second = await resultOf(fleet, 'scoped')
    expect(first).toMatchObject({ same: true })
    expect(second).toMatchObject({ same: true })
    expect(first).not.toEqual(second)
  })

  it('cannot be seen by @nestjs/schedule', async () => {
    @Injectable()
    class Invoices {
      @Cron(NEVER, { name: 'ours' })
      bill() {
        return 'ours'
      }
    }
    const app = await start({
      imports: [ScheduleModule.forRoot(), FleetModule.forRoot(OPTIONS)],
      providers: [Invoices],
    })
    const registries = new Set(
      app
        .get(DiscoveryService)
        .getProviders()
        .flatMap(({ instance }) => (instance instanceof SchedulerRegistry ? [instance] : [])),
    )
    const shown = [...registries].map((registry) => [...registry.getCronJobs().keys()])
    expect(shown.sort((a, b) => a.length - b.length)).toEqual([[], ['ours']])
    expect(await resultOf(app.get(FLEET), 'ours')).toBe('ours')
  })

  it('refuses two jobs of one name and says where they stand', async () => {
    @Injectable()
    class Invoices {
      @Cron(NEVER, { name: 'nightly' })
      bill() {}
    }
    @Injectable()
    class Reminders {
      @Cron(NEVER, { name: 'nightly' })
      remind() {}
    }
    const starting = startWith([Invoices, Reminders])
    await expect(starting).rejects.toMatchObject({
      code: 'JOB_DUPLICATE',
      message: expect.stringContaining('Invoices.bill and Reminders.remind'),
    })
  })

  it('takes a class with an alias, or under two tokens, for one job', async () => {
    @Injectable()
    class Invoices {
      @Cron(NEVER, { name: 'nightly' })
      bill() {
        return 'billed'
      }
    }
    const alias = { provide: 'INVOICES', useExisting: Invoices }
    const app = await start({ imports: [FleetModule.forRoot(OPTIONS)], providers: [Invoices, alias] })
    expect(await resultOf(app.get(FLEET), 'nightly')).toBe('billed')
    const second = { provide: 'INVOICES', useClass: Invoices }
    await app.close()
    const twice = await start({ imports: [FleetModule.forRoot(OPTIONS)], providers: [Invoices, second] })
    expect(await resultOf(twice.get(FLEET), 'nightly')).toBe('billed')
  })
})

describe('FleetModule', () => {
  it('says what is missing when the store is undefined', async () => {
    const starting = startWith([], { ...OPTIONS, store: undefined })
    await expect(starting).rejects.toMatchObject({
      code: 'STORE_MISSING',
      message: expect.stringContaining("'billing'"),
    })
  })

  it('takes its options from what a factory is injected', async () => {
    const imports = [
      FleetModule.forRootAsync({
        imports: [configuration('reports')],
        inject: ['FLEET_NAME'],
        useFactory: async (fleet: string) => ({ ...OPTIONS, fleet }),
      }),
    ]
    @Injectable()
    class Reports {
      constructor(@InjectFleet() readonly fleet: Fleet) {}
    }
    const app = await start({ imports, providers: [Reports] })
    expect(app.get(Reports).fleet.name).toBe('reports')
  })

  it('is refused twice in one application', async () => {
    const starting = start({ imports: [FleetModule.forRoot(OPTIONS), FleetModule.forRoot({ ...OPTIONS })] })
    await expect(starting).rejects.toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining('twice') })
  })

  it('starts after everything else has started', async () => {
    const order: string[] = []
    @Injectable()
    class Cache {
      constructor(@InjectFleet() fleet: Fleet) {
        fleet.on('started', () => order.push('fleet'))
      }
      onApplicationBootstrap() {
        order.push('cache')
      }
    }
    await startWith([Cache])
    expect(order).toEqual(['cache', 'fleet'])
  })
})

function configuration(name: string): Type {
  @Module({ providers: [{ provide: 'FLEET_NAME', useValue: name }], exports: ['FLEET_NAME'] })
  class Configuration {}
  return Configuration
}
