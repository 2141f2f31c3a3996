import { afterEach, describe, expect, it } from 'vitest'
import { defineHandler, FleetcronError } from '../src/index.js'
import type { Store } from '../src/store/port.js'
import { at8, Bench, digest } from './fleet/schedule-bench.js'

let bench = new Bench()
afterEach(async () => {
  await bench.ends()
  bench = new Bench()
})

const of = (id: string) => ({ name: `digest:${id}`, handler: digest, data: { tenantId: id }, ...at8 })

describe('a schedule kept in the store', () => {
  it('runs on a node that never heard of it when it started', async () => {
    await bench.started()
    const asking = bench.fleet({ attends: false })
    await asking.start()
    expect(await asking.schedules.upsert(of('a'))).toEqual({ outcome: 'created', message: null })
    await asking.schedules.upsert(of('b'))
    await bench.clock.advance(60_000)
    expect(bench.sent.sort()).toEqual(['digest:a a 2026-11-29', 'digest:b b 2026-11-29'])
  })

  it('is left alone by a node without its handler, which loses nothing', async () => {
    const fleet = bench.fleet()
    await fleet.start()
    await fleet.schedules.upsert(of('a'))
    await bench.clock.advance(120_000)
    expect(await fleet.runs()).toEqual([])
    await bench.started()
    await bench.clock.advance(60_000)
    expect(bench.sent).toEqual(['digest:a a 2026-11-29'])
  })

  it('writes nothing where it equals what is stored, in whatever order its data were written', async () => {
    const fleet = await bench.started()
    const pair = defineHandler<{ a: number; b: number }>('pair')
    await fleet.schedules.upsert({ name: 'one', handler: pair, data: { a: 1, b: 2 }, ...at8 })
    const before = bench.commits.length
    const again = await fleet.schedules.upsert({ name: 'one', handler: pair, data: { b: 2, a: 1 }, ...at8 })
    expect(again.outcome).toBe('unchanged')
    expect(bench.commits.length).toBe(before)
  })

  it('goes by the latest terms, and by earlier ones again when somebody turns them back', async () => {
    const fleet = await bench.started()
    await fleet.schedules.upsert(of('a'))
    const changed = await fleet.schedules.upsert({ ...of('a'), cron: '0 9 * * *' })
    expect(changed.outcome).toBe('changed')
    expect((await fleet.schedules.get('digest:a'))?.next).toEqual(new Date(Date.UTC(2026, 10, 29, 9)))
    const back = await fleet.schedules.upsert(of('a'))
    expect(back.outcome).toBe('changed')
    expect((await fleet.schedules.get('digest:a'))?.next).toEqual(new Date(Date.UTC(2026, 10, 29, 8)))
  })

  it('keeps the zone it has where nobody names one', async () => {
    const fleet = await bench.started()
    const terms = { name: 'digest:z', handler: digest, data: { tenantId: 'z' }, cron: '0 8 * * *' }
    await fleet.schedules.upsert({ ...terms, timeZone: 'Europe/Helsinki' })
    expect((await fleet.schedules.upsert(terms)).outcome).toBe('unchanged')
  })

  it('is triggered, seen and retried like any job', async () => {
    const fleet = await bench.started()
    await fleet.schedules.upsert(of('a'))
    const run = await fleet.trigger('schedule/digest:a', { data: { tenantId: 'other' } })
    await bench.clock.advance(1_000)
    expect(bench.sent).toEqual(['digest:a other 2026-11-29'])
    expect((await fleet.finished(run)).state).toBe('succeeded')
    expect((await fleet.jobs()).map(({ job, hosted }) => [job, hosted])).toEqual([['app:schedule/digest:a', true]])
  })

  it('belongs to its service', async () => {
    const fleet = await bench.started()
    const other = bench.fleet({ service: 'other' })
    await other.start()
    await fleet.schedules.upsert(of('a'))
    expect(await other.schedules.get('digest:a')).toBeNull()
    expect(await other.schedules.list()).toEqual([])
  })
})

describe('a boot', () => {
  it('may keep schedules before the fleet starts', async () => {
    const fleet = bench.fleet()
    fleet.handler(digest, ({ data }) => void bench.sent.push(data.tenantId))
    expect((await fleet.schedules.ensure(of('a'))).outcome).toBe('created')
    expect((await fleet.schedules.ensure({ ...of('a'), cron: '0 9 * * *' })).outcome).toBe('unchanged')
    await fleet.start()
    await bench.clock.advance(60_000)
    expect(bench.sent).toEqual(['a'])
  })

  it('does not bring earlier terms back, and says so', async () => {
    const old = bench.fleet()
    await old.schedules.upsert(of('a'))
    const fresh = bench.fleet()
    await fresh.schedules.upsert({ ...of('a'), cron: '0 9 * * *' })
    const restarted = bench.fleet()
    const answer = await restarted.schedules.upsert(of('a'))
    expect(answer).toEqual({ outcome: 'refused', message: expect.stringContaining('had these terms before') })
    expect(bench.lines.filter((line) => line.includes('had these terms before'))).toHaveLength(1)
    await restarted.start()
    expect((await restarted.schedules.upsert(of('a'))).outcome).toBe('changed')
  })

  it('is told at once where the store is away, and goes on when it is back', async () => {
    const { store } = bench
    let isAway = true
    const open = () =>
      isAway ? Promise.reject(new FleetcronError('STORE_UNAVAILABLE', 'nobody listens')) : store.open()
    const fleet = bench.fleet({ store: { ...store, open } })
    await expect(fleet.schedules.ensure(of('a'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('nobody listens'),
    })
    await expect(fleet.schedules.ensure(of('a'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    isAway = false
    await bench.clock.advance(1_000)
    expect((await fleet.schedules.ensure(of('a'))).outcome).toBe('created')
  })

  it('loads none of ten thousand, and they run', async () => {
    const keeping = bench.fleet()
    const tick = defineHandler<number>('tick')
    await keeping.start()
    const tasks = Array.from({ length: 10_000 }, (_, i) => i)
    for (const i of tasks) await keeping.schedules.upsert({ name: `t${i}`, handler: tick, data: i, ...at8 })
    const loads: number[] = []
    const { store } = bench
    const load: Store['load'] = (query) => {
      loads.push(query.jobs?.length ?? 0)
      return store.load(query)
    }
    const fleet = bench.fleet({ store: { ...store, load }, maxRuns: 10_000 })
    const seen = new Set<number>()
    fleet.handler(tick, ({ data }) => void seen.add(data))
    await fleet.start()
    expect(loads.reduce((sum, jobs) => sum + jobs, 0)).toBe(0)
    await bench.clock.advance(60_000)
    expect(seen.size).toBe(10_000)
  }, 60_000)
})

describe('data', () => {
  it('that the handler does not take is refused where it is handed in', async () => {
    const fleet = await bench.started()
    const bad = { ...of('a'), data: { tenantId: 7 } as never }
    await expect(fleet.schedules.upsert(bad)).rejects.toMatchObject({
      code: 'DATA_INVALID',
      message: "Schedule 'digest:a': its data is not what handler 'tenant-digest' takes: tenantId is not a text",
    })
    expect(await fleet.schedules.get('digest:a')).toBeNull()
  })

  it('that the handler does not take any more fails its run once, and stops nothing', async () => {
    const loose = defineHandler<{ tenantId: unknown }>('tenant-digest')
    const keeping = bench.fleet({ attends: false })
    await keeping.start()
    await keeping.schedules.upsert({ ...of('a'), handler: loose, data: { tenantId: 7 }, retry: 5 })
    await keeping.schedules.upsert(of('b'))
    const fleet = await bench.started()
    await bench.clock.advance(600_000)
    expect(bench.sent).toEqual(['digest:b b 2026-11-29'])
    const [run] = await fleet.runs({ job: 'schedule/digest:a' })
    expect(run).toMatchObject({ state: 'failed', attempt: 1 })
    expect(run?.error?.message).toContain("Schedule 'digest:a': its data is not what handler 'tenant-digest' takes")
    expect(bench.lines.filter((line) => line.includes("'digest:a'"))).toHaveLength(1)
  })

  it('is given to the handler as parse returns it, and kept as it was handed in', async () => {
    const fleet = bench.fleet()
    const dated = defineHandler('dated', { parse: (data) => new Date(data as string) })
    const seen: Date[] = []
    fleet.handler(dated, ({ data }) => void seen.push(data))
    await fleet.start()
    const day = new Date(Date.UTC(2026, 0, 1))
    await fleet.schedules.upsert({ name: 'one', handler: dated, data: day, ...at8 })
    await bench.clock.advance(60_000)
    expect(seen).toEqual([day])
    expect((await fleet.schedules.get('one'))?.data).toBe('2026-01-01T00:00:00.000Z')
  })
})

describe('the quota of a handler', () => {
  it('refuses what would go beyond it, and nothing else', async () => {
    const few = defineHandler<number>('few', { quota: 2 })
    const fleet = await bench.started()
    const terms = (name: string, data = 0) => ({ name, handler: few, data, ...at8 })
    await fleet.schedules.upsert(terms('one'))
    await fleet.schedules.ensure(terms('two'))
    await expect(fleet.schedules.upsert(terms('three'))).rejects.toMatchObject({
      code: 'QUOTA_REACHED',
      message: expect.stringMatching(/'three'.*handler 'few' has 2 .*quota is 2/),
    })
    expect((await fleet.schedules.upsert(terms('one', 1))).outcome).toBe('changed')
    expect((await fleet.schedules.upsert(of('a'))).outcome).toBe('created')
    expect(await fleet.schedules.remove('two')).toBe(true)
    expect((await fleet.schedules.upsert(terms('three'))).outcome).toBe('created')
    await expect(fleet.schedules.ensure(terms('two'))).rejects.toMatchObject({ code: 'QUOTA_REACHED' })
  })
})

describe('list, remove, pause', () => {
  it('gives pages by name, of one handler or of all', async () => {
    const fleet = await bench.started()
    const other = defineHandler<string>('other')
    for (const id of ['a', 'b', 'c']) await fleet.schedules.upsert(of(id))
    await fleet.schedules.upsert({ name: 'b2', handler: other, data: 'x', ...at8 })
    const names = async (query: Parameters<typeof fleet.schedules.list>[0]) =>
      (await fleet.schedules.list(query)).map(({ name }) => name)
    expect(await names({})).toEqual(['b2', 'digest:a', 'digest:b', 'digest:c'])
    expect(await names({ handler: 'tenant-digest', limit: 2 })).toEqual(['digest:a', 'digest:b'])
    expect(await names({ handler: digest, limit: 2, after: 'digest:b' })).toEqual(['digest:c'])
  })

  it('removes for good, until it is made again', async () => {
    const fleet = await bench.started()
    await fleet.schedules.upsert(of('a'))
    expect(await fleet.schedules.remove('digest:a', { by: 'ann', why: 'gone' })).toBe(true)
    expect(await fleet.schedules.remove('digest:a')).toBe(false)
    expect(await fleet.schedules.get('digest:a')).toBeNull()
    await bench.clock.advance(60_000)
    expect(bench.sent).toEqual([])
    expect((await fleet.schedules.ensure(of('a'))).outcome).toBe('created')
    expect((await fleet.schedules.get('digest:a'))?.data).toEqual({ tenantId: 'a' })
  })

  it('pauses and resumes', async () => {
    const fleet = await bench.started()
    await fleet.schedules.upsert(of('a'))
    await fleet.schedules.pause('digest:a')
    await bench.clock.advance(60_000)
    expect(bench.sent).toEqual([])
    await fleet.schedules.resume('digest:a')
    await bench.clock.advance(86_400_000)
    expect(bench.sent).toEqual(['digest:a a 2026-11-30'])
    await expect(fleet.schedules.pause('nobody')).rejects.toMatchObject({ code: 'JOB_UNKNOWN' })
  })
})

describe('what is refused', () => {
  it('is a job that takes the name of one', () => {
    expect(() => bench.fleet().job('schedule/x', {}, () => {})).toThrow(/belong to schedules kept in the store/)
  })

  it('is a handler twice, or after start', async () => {
    const fleet = bench.fleet()
    fleet.handler(digest, () => {})
    expect(() => fleet.handler(digest, () => {})).toThrow(/two handlers named 'tenant-digest'/)
    await fleet.start()
    expect(() => fleet.handler(defineHandler('late'), () => {})).toThrow(/after start\(\)/)
  })

  it('is a schedule that says no time, or has an option of jobs in code', async () => {
    const fleet = await bench.started()
    const { cron: _, ...without } = of('a')
    await expect(fleet.schedules.upsert(without)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    await expect(fleet.schedules.upsert({ ...of('a'), id: 'x' } as never)).rejects.toThrow(/no option 'id'/)
    const zoned = { name: 'a', handler: digest, every: '5m', data: { tenantId: 'a' }, timeZone: 'Mars/X' }
    await expect(fleet.schedules.upsert(zoned as never)).rejects.toMatchObject({ code: 'ZONE_UNKNOWN' })
    await expect(fleet.schedules.upsert({ ...of('a'), name: ' ' })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })
})
