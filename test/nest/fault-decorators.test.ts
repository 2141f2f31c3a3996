import 'reflect-metadata'
import { Injectable, Module, type ModuleMetadata, Scope } from '@nestjs/common'
import { afterEach, describe, expect, it } from 'vitest'
import { Cron, FleetModule, Interval, SchedulerRegistry } from '../../src/nest/index.js'
import { fleetOf, Lines, NEVER, OPTIONS, resultOf, startApplication } from './stand.js'

/** Decorators and providers as others have seen them fail: `test/cases/faults.json`. */
type App = Awaited<ReturnType<typeof startApplication>>
let app: App | null = null
afterEach(async () => {
  await app?.close()
  app = null
})

async function start({ imports = [], ...metadata }: ModuleMetadata, options: object = OPTIONS): Promise<App> {
  app = await startApplication({ imports: [FleetModule.forRoot(options as never), ...imports], ...metadata })
  return app
}

const names = async () => (await fleetOf(app as App).jobs()).map(({ name }) => name).sort()

@Injectable()
class Reports {
  @Cron(NEVER, { name: 'report' })
  send() {
    return 'sent'
  }
}

describe('F64 two decorated methods with one explicit name', () => {
  it.each([
    [OPTIONS, /One\.run.*Two\.sweep|Two\.sweep.*One\.run/],
    [{}, /cleanup.*already exists/],
  ])('in two providers: the start fails, and in a fleet names both places (%o)', async (options, words) => {
    @Injectable()
    class One {
      @Interval('cleanup', 3_600_000)
      run() {}
    }
    @Injectable()
    class Two {
      @Interval('cleanup', 3_600_000)
      sweep() {}
    }
    const starting = start({ providers: [One, Two] }, options)
    await expect(starting).rejects.toMatchObject({ message: expect.stringMatching(words) })
  })

  it('in one provider, and of two kinds of decorator, too', async () => {
    @Injectable()
    class Both {
      @Interval('cleanup', 3_600_000)
      run() {}
      @Cron(NEVER, { name: 'cleanup' })
      sweep() {}
    }
    await expect(start({ providers: [Both] })).rejects.toMatchObject({
      code: 'JOB_DUPLICATE',
      message: expect.stringMatching(/Both\.run.*Both\.sweep|Both\.sweep.*Both\.run/),
    })
  })
})

describe('F66 one class under two tokens', () => {
  it('by useExisting: one job, without a word', async () => {
    const lines = new Lines()
    await start({ providers: [Reports, { provide: 'ALIAS', useExisting: Reports }] })
    expect(await names()).toEqual(['report'])
    expect(lines.of('warn', 'more than once')).toEqual([])
  })

  it('in two modules, as instances of their own: one job, one run, and a warning', async () => {
    @Module({ providers: [Reports] })
    class A {}
    @Module({ providers: [Reports] })
    class B {}
    const lines = new Lines()
    await start({ imports: [A, B] })
    expect(await names()).toEqual(['report'])
    expect(lines.of('warn', 'Reports is provided more than once')).toHaveLength(1)
    expect(await resultOf(fleetOf(app as App), 'report')).toBe('sent')
    expect(await fleetOf(app as App).runs({ job: 'report' })).toHaveLength(1)
  })
})

describe('F69 two schedule decorators on one method', () => {
  it('are two jobs where they have two names', async () => {
    @Injectable()
    class Twice {
      @Cron(NEVER, { name: 'at night' })
      @Interval('now and then', 3_600_000)
      run() {}
    }
    await start({ providers: [Twice] })
    expect(await names()).toEqual(['at night', 'now and then'])
  })

  @Injectable()
  class Nameless {
    @Cron(NEVER)
    @Interval(3_600_000)
    run() {}
  }

  it('are refused at the start of a fleet where they would be one job', async () => {
    await expect(start({ providers: [Nameless] })).rejects.toMatchObject({
      code: 'JOB_DUPLICATE',
      message: expect.stringContaining('Nameless.run'),
    })
  })

  it('are both active without a fleet, where nobody needs a name', async () => {
    const registry = (await start({ providers: [Nameless] }, {})).get(SchedulerRegistry)
    expect([registry.getCronJobs().size, registry.getIntervals().length]).toEqual([1, 1])
  })
})

describe('a provider of which each who asks has one of his own', () => {
  it.each([Scope.TRANSIENT, Scope.REQUEST])('is made for the run, constructor and all (scope %i)', async (scope) => {
    @Injectable({ scope })
    class Counting {
      private readonly words = ['made']
      @Cron(NEVER, { name: 'count' })
      run() {
        this.words.push('called')
        return this.words
      }
    }
    await start({ providers: [Counting] })
    for (const _ of [1, 2]) expect(await resultOf(fleetOf(app as App), 'count')).toEqual(['made', 'called'])
  })
})

describe('a decorator on a static method', () => {
  it('is refused where it stands, since nothing would call it', () => {
    const write = () => {
      class Reports {
        @Cron(NEVER, { name: 'lost' })
        static send() {}
        find() {}
      }
      return Reports
    }
    expect(write).toThrow(/Reports\.send is static.*nothing would call it/)
  })
})
