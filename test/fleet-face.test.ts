import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it } from 'vitest'
import { createFleet, currentRun, type FleetOptions } from '../src/index.js'
import { createMemoryStore } from '../src/store/memory/index.js'

/** A fleet on the process's own clock, and the lines it wrote. */
function make(options: Partial<FleetOptions> = {}) {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const fleet = createFleet({
    fleet: 'face',
    service: 'app',
    store: createMemoryStore(),
    logger: { info: write, warn: write, error: write },
    ...options,
  })
  return { fleet, lines }
}

describe('a fleet', () => {
  it('says at start what it is, and lists its jobs with what was defaulted', async () => {
    const { fleet, lines } = make({ nodeLabel: 'host#7' })
    fleet.job('daily-invoices', { cron: '0 0 * * *', timeZone: 'Europe/Helsinki', overlap: 'wait' }, () => {})
    fleet.job('on-request', { catchUp: { policy: 'each', within: '1h' } }, () => {})
    fleet.job('often', { every: '15m' }, () => {})
    fleet.job('elsewhere', { cron: '* * * * *', disabled: true }, () => {})
    await fleet.start()
    await fleet.stop()
    expect(lines[0]).toContain(
      "fleet 'face', service 'app', node host#7; store memory, graded efficient: it may lose what it acknowledged. Note: ",
    )
    const table = lines[1] ?? ''
    expect(table).toMatch(/^fleetcron: jobs\njob +schedule +zone +next +scope +overlap +catch-up\n/)
    expect(table).toMatch(
      /\ndaily-invoices +0 0 \* \* \* +Europe\/Helsinki +\d{4}-\d\d-\d\dT00:00 +fleet +wait +merge\*\n/,
    )
    expect(table).toMatch(/\non-request +on request +fleet +skip\* +each within 1h\n/)
    expect(table).toMatch(/\noften +every 15m +within 15m +fleet/)
    expect(table).toMatch(/\nelsewhere .*disabled here/)
    expect(table).toContain('* by default')
  })

  it('says aloud, at every try, that a store cannot be opened, and so does its health', async () => {
    const errors: string[] = []
    const logger = { info: () => {}, warn: () => {}, error: (line: string) => void errors.push(line) }
    const { fleet } = make({ store: 'sqlite:/no-such-folder/ledger.db', logger })
    const away = fleet.once('store-away')
    const starting = fleet.start()
    await away
    expect(fleet.health()).toMatchObject({
      ready: false,
      store: { error: expect.stringContaining('folder must exist') },
    })
    await fleet.stop()
    await expect(starting).rejects.toMatchObject({ code: 'NOT_STARTED' })
    expect(
      errors.filter((line) => line.includes('cannot open the store; nothing runs here until it works')),
    ).not.toEqual([])
  })

  it('stops also where the grace is no duration, and says what was wrong with it', async () => {
    const { fleet } = make()
    const stopped = fleet.once('stopped')
    await fleet.start()
    const stopping = fleet.stop({ grace: 'abc' })
    await expect(stopping).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('stop: grace'),
    })
    await stopped
    expect(fleet.health()?.state).toBe('stopped')
    await fleet.stop()
  })

  it('triggers, awaits, looks up and cancels', async () => {
    const { fleet } = make()
    const seen: unknown[] = []
    fleet.job<{ n: number }>('double', {}, async (run) => {
      await Promise.resolve()
      seen.push(currentRun()?.key)
      return run.data.n * 2
    })
    fleet.job(
      'endless',
      {},
      (run) =>
        new Promise((_, reject) => {
          run.signal.addEventListener('abort', () => reject(run.signal.reason))
        }),
    )
    await fleet.start()
    const run = await fleet.trigger('double', { data: { n: 21 } })
    const done = await fleet.finished(run)
    expect([done.state, done.result]).toEqual(['succeeded', '42'])
    expect(seen).toEqual([run.key])
    expect(currentRun()).toBeUndefined()
    expect((await fleet.runs({ job: 'double' })).map(({ key }) => key)).toEqual([run.key])
    expect((await fleet.jobs()).map(({ name }) => name)).toEqual(['double', 'endless'])
    expect((await fleet.history({ job: 'double' })).map(({ kind }) => kind)).toEqual(['triggered', 'defined'])

    const started = fleet.once('run-started', ({ job }) => job === 'app:endless')
    const endless = await fleet.trigger('endless')
    await started
    await fleet.cancel(endless, { why: 'enough' })
    expect((await fleet.finished(endless)).state).toBe('cancelled')
    await fleet.pause('endless', { until: new Date(Date.now() + 60_000) })
    expect((await fleet.jobs())[1]?.pause?.until).toBeGreaterThan(Date.now())
    await fleet.resume('endless')
    const again = await fleet.retry(endless)
    await fleet.stop({ grace: 0 })
    expect(again.retryOf).toBe(endless.key)
    await expect(fleet.trigger('double')).rejects.toMatchObject({ code: 'NOT_STARTED' })
  })

  it('tells events to listeners and on diagnostics channels, and survives a listener that throws', async () => {
    const { fleet, lines } = make()
    const told: unknown[] = []
    const onChannel = (message: unknown) => void told.push(message)
    subscribe('fleetcron:run-settled', onChannel)
    fleet.on('run-settled', () => {
      throw new Error('bad listener')
    })
    fleet.job('it', {}, () => 1)
    await fleet.start()
    await fleet.finished(await fleet.trigger('it'))
    await fleet.stop()
    unsubscribe('fleetcron:run-settled', onChannel)
    expect(told).toMatchObject([{ fleet: 'face', job: 'app:it', outcome: 'succeeded', result: 'settled' }])
    expect(lines.some((line) => line.includes("a listener for 'run-settled' threw"))).toBe(true)
  })

  it('survives a logger that throws', async () => {
    const fail = () => {
      throw new Error('no disk')
    }
    const { fleet } = make({ logger: { info: fail, warn: fail, error: fail } })
    fleet.job('it', {}, () => 1)
    await fleet.start()
    expect((await fleet.finished(await fleet.trigger('it'))).state).toBe('succeeded')
    await fleet.stop()
  })

  it('refuses jobs after its start, starts once, and is over once it is stopped', async () => {
    const { fleet } = make({ logger: false })
    expect(fleet.start()).toBe(fleet.start())
    expect(() => fleet.job('late', {}, () => {})).toThrow("Job 'late' is declared after start()")
    await fleet.start()
    await fleet.stop()
    expect(fleet.health()?.state).toBe('stopped')
    const other = make({ logger: false }).fleet
    await other.stop()
    await expect(other.start()).rejects.toMatchObject({ code: 'NOT_STARTED' })
  })

  it('finds its store by a URL, and says what is wrong with one', async () => {
    const good = make({ store: 'memory:' }).fleet
    await good.start()
    expect(good.health()?.ready).toBe(true)
    await good.stop()
    await expect(make({ store: 'mongo://x' }).fleet.start()).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })

  it('stops while it still looks for its store', async () => {
    const { fleet } = make({ store: 'memory:' })
    const started = fleet.start().catch((error) => error.code)
    await fleet.stop()
    expect(await started).toBe('NOT_STARTED')
  })

  it('hides nothing of another service: a job written out as service:id can be asked for', async () => {
    const store = createMemoryStore()
    const { fleet: shop } = make({ store, service: 'shop' })
    shop.job('report', {}, () => 'done')
    const { fleet: desk } = make({ store, service: 'desk', attends: false })
    await Promise.all([shop.start(), desk.start()])
    const run = await desk.trigger('shop:report')
    expect((await desk.finished(run)).result).toBe('"done"')
    await Promise.all([shop.stop(), desk.stop()])
  })
})
