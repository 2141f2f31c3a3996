import 'reflect-metadata'
import { readFileSync } from 'node:fs'
import { Injectable, type Type } from '@nestjs/common'
import { afterEach, describe, expect, it } from 'vitest'
import type { Fleet } from '../../src/fleet/fleet.js'
import { Cron, FleetModule, type Run, Timeout } from '../../src/nest/index.js'
import { createMemoryStore } from '../../src/store/memory/index.js'
import type { Store } from '../../src/store/port.js'
import { fleetOf, Lines, NEVER, OPTIONS, startApplication } from './stand.js'

/** Faults that were reported of other schedulers, as far as decorators and modules have to do with them. */
const cases = JSON.parse(readFileSync(new URL('../cases/nest-faults.json', import.meta.url), 'utf8')) as {
  readonly id: string
  readonly kind: string
  readonly expected: string
}[]

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

async function start(store: Store, providers: Type[], options: object = {}) {
  const app = await startApplication({ imports: [FleetModule.forRoot({ ...OPTIONS, store, ...options })], providers })
  open.push(app)
  return app
}

/** So many more runs of a job have ended. */
async function runsOf(fleet: Fleet, job: string, count: number): Promise<void> {
  for (let seen = 0; seen < count; seen += 1) {
    await fleet.once('run-settled', ({ run }) => run.job.endsWith(`:${job}`))
  }
}

/** Looks again whenever any of the fleets has ended a run. */
async function allOf(isDone: () => boolean, fleets: readonly Fleet[]): Promise<void> {
  while (!isDone()) await Promise.race(fleets.map((fleet) => fleet.once('run-settled')))
}

@Injectable()
class Ticks {
  @Cron('* * * * * *', { name: 'tick' })
  tick() {}
}

const PLAYED: Readonly<Record<string, () => Promise<void>>> = {
  async F61() {
    const lines = new Lines()
    const store = createMemoryStore()
    @Injectable()
    class Old {
      @Cron('* * * * * *', { name: 'old' })
      run() {}
    }
    const before = await start(store, [Old])
    await runsOf(fleetOf(before), 'old', 1)
    await before.close()
    const fleet = fleetOf(await start(store, [Ticks]))
    const count = (await fleet.runs({ job: 'old' })).length
    await runsOf(fleet, 'tick', 2)
    expect(await fleet.runs({ job: 'old' })).toHaveLength(count)
    expect((await fleet.jobs()).find(({ name }) => name === 'old')).toMatchObject({ hosted: false, retired: false })
    await fleet.retire('old', { why: 'no release has it any more' })
    expect((await fleet.jobs()).find(({ name }) => name === 'old')).toMatchObject({ retired: true, next: null })
    expect(lines.of('error', '')).toEqual([])
  },

  async F63() {
    const store = createMemoryStore()
    const cleanup = () => {
      const keys: string[] = []
      @Injectable()
      class Cleanup {
        @Cron('* * * * * *', { name: 'cleanup' })
        run(run: Run) {
          keys.push(run.key)
        }
      }
      return { Cleanup, keys }
    }
    const [sales, stock] = [cleanup(), cleanup()]
    const one = fleetOf(await start(store, [sales.Cleanup], { service: 'sales' }))
    await start(store, [stock.Cleanup], { service: 'stock' })
    const shared = () => sales.keys.filter((key) => stock.keys.includes(key))
    while (shared().length < 2) await runsOf(one, 'cleanup', 1)
    expect((await one.jobs()).map(({ job }) => job)).toEqual(['sales:cleanup', 'stock:cleanup'])
  },

  async F67() {
    const done: string[] = []
    abstract class Base {
      @Cron(NEVER)
      run() {
        done.push(this.constructor.name)
      }
    }
    @Injectable()
    class A extends Base {}
    @Injectable()
    class B extends Base {}
    @Injectable()
    class Silent extends Base {
      override run() {}
    }
    for (const [it, name] of [
      [A, 'Apples'],
      [B, 'Berries'],
    ] as const) {
      Object.defineProperty(it, 'name', { value: name })
    }
    const fleet = fleetOf(await start(createMemoryStore(), [A, B, Silent]))
    expect((await fleet.jobs()).map(({ name }) => name)).toEqual(['Apples.run', 'Berries.run'])
    await fleet.finished(await fleet.trigger('Berries.run'))
    expect(done).toEqual(['Berries'])
  },

  async F83() {
    const store = createMemoryStore()
    const done: string[] = []
    @Injectable()
    class Start {
      @Timeout(0)
      onEachNode() {
        done.push('node')
      }
      @Timeout(0, { name: 'once', scope: 'fleet', key: 'release-7' })
      once() {
        done.push('fleet')
      }
    }
    const apps = await Promise.all([1, 2, 3].map(() => start(store, [Start, Ticks])))
    const [fleet] = apps.map(fleetOf) as [Fleet]
    await fleet.finished(await fleet.trigger('once', { key: 'timeout:release-7' }))
    await allOf(() => done.filter((one) => one === 'node').length === 3, apps.map(fleetOf))
    expect(done.sort()).toEqual(['fleet', 'node', 'node', 'node'])
  },
}

describe('reported of other schedulers', () => {
  it('has a play for each case', () => {
    expect(Object.keys(PLAYED)).toEqual(cases.map(({ id }) => id))
  })

  it.each(cases)('$id $kind: $expected', async ({ id }) => {
    await PLAYED[id]?.()
  })
})
