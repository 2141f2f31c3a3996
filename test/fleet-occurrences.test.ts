import { describe, expect, it } from 'vitest'
import { advance, createTestFleet } from '../src/testing/index.js'
import { FleetWorld, job, lasting } from './fleet/world.js'

const at = (second: string): string => `2026-11-29T12:0${second}Z`
const UTC = { timeZone: 'UTC', dstGap: 'next' } as const

describe('the occurrences that a run covers', () => {
  it.each([
    ['*/10 * * * * *', '48s', ['0', '0:10', '0:20', '0:30', '0:40']],
    ['*/30 * * * * *', '100s', ['0', '0:30', '1', '1:30']],
  ])('are all listed and found where keys have seconds: %s', async (cron, initialDelay, seconds) => {
    const fleet = createTestFleet({ now: '2026-11-29T11:59:55Z' })
    const listed: string[][] = []
    fleet.job('often', { cron, timeZone: 'UTC', initialDelay }, (run) => {
      listed.push(run.occurrences().map(({ key }) => key))
    })
    await fleet.start()
    await advance(fleet, initialDelay)
    await advance(fleet, '1s')
    expect(listed).toEqual([seconds.map(at)])
    for (const second of seconds) {
      expect(await fleet.occurrence('often', at(second))).toMatchObject({ key: at('0'), state: 'succeeded' })
    }
    await fleet.stop()
  })

  it('are found by their row, and no other instant by it: neither what is to come nor what is none', async () => {
    const fleet = createTestFleet({ now: '2026-11-29T12:00:05Z' })
    fleet.job('often', { cron: '*/10 * * * * *', timeZone: 'UTC' }, () => undefined)
    await fleet.start()
    await fleet.pause('often')
    await advance(fleet, '58s')
    await fleet.resume('often')
    expect(await fleet.occurrence('often', at('1'))).toMatchObject({ state: 'missed', key: at('0:10') })
    for (const second of ['1:10', '0:59', '0:05']) expect(await fleet.occurrence('often', at(second))).toBeNull()
    await fleet.stop()
  })

  it('stay missed when somebody asks for one of them later', async () => {
    const fleet = createTestFleet({ now: '2026-11-29T12:00:30Z' })
    fleet.job('minute', { cron: '* * * * *', timeZone: 'UTC' }, () => undefined)
    await fleet.start()
    await fleet.pause('minute')
    await advance(fleet, '5m')
    await fleet.resume('minute')
    const third = new Date(at('3'))
    await fleet.backfill('minute', { from: third, to: third })
    await advance(fleet, '1s')
    expect(await fleet.occurrence('minute', at('3'))).toMatchObject({ state: 'missed', reason: 'paused' })
    await fleet.stop()
  })

  it('have the same keys when they are asked for once more: backfill, retry', async () => {
    const fleet = createTestFleet({ now: '2026-11-29T11:59:00Z' })
    const listed: string[] = []
    let fails = true
    fleet.job('daily', { cron: '0 12 * * *', timeZone: 'UTC' }, (run) => {
      listed.push(...run.occurrences().map(({ key }) => `${run.cause} ${key}`))
      if (fails) throw new Error('not yet')
    })
    await fleet.start()
    await advance(fleet, '2m')
    fails = false
    const [failed] = await fleet.runs({ job: 'daily' })
    if (failed === undefined) throw new Error('there is a run')
    await fleet.retry(failed)
    await advance(fleet, '1s')
    const noon = new Date(at('0'))
    await fleet.backfill('daily', { from: noon, to: noon })
    await advance(fleet, '1s')
    const key = '2026-11-29T12:00'
    expect(listed).toEqual([`schedule ${key}`, `manual ${key}`, `backfill ${key}`])
    await fleet.stop()
  })

  it('are the same for each attempt, whatever the job became meanwhile', async () => {
    const world = new FleetWorld()
    const listed: string[][] = []
    const handler = (process: Parameters<typeof lasting>[0], ms: number) => {
      const last = lasting(process, ms)
      return (run: Parameters<typeof last>[0]) => {
        listed.push(run.occurrences().map(({ key }) => key.slice(11, 16)))
        return last(run)
      }
    }
    const a: ReturnType<FleetWorld['node']> = world.node('a', [
      job(
        'it',
        handler(() => a.process, 50 * 60_000),
        { schedule: { cron: '*/15 * * * *', ...UTC }, overlap: 'merge' },
      ),
    ])
    await world.started(a)
    // The first run lasts from 12:15 to 13:05; the next one, of what came meanwhile, is cut short.
    await world.pass(66 * 60_000)
    a.process.kill()
    const b: ReturnType<FleetWorld['node']> = world.node('b', [
      job(
        'it',
        handler(() => b.process, 0),
        { schedule: { cron: '*/10 * * * *', ...UTC }, overlap: 'merge' },
      ),
    ])
    await world.started(b)
    await world.pass(60_000)
    expect(listed).toEqual([['12:15'], ['12:30', '12:45', '13:00'], ['12:30', '12:45', '13:00']])
  })
})
