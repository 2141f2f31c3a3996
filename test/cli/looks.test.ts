import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fresh, START } from '../../src/testing/store/builders.js'
import { CommandLine } from './command.js'
import { event, FLEET, PreparedLedger, queued } from './ledger.js'

let command: CommandLine
let ledger: PreparedLedger

const WEB = { services: ['billing'], manifest: { 'billing:invoices': 'hash-1' } }

beforeAll(async () => {
  command = await CommandLine.build()
  ledger = await PreparedLedger.make(START)
  const web = await ledger.node('web1#1', WEB)
  await ledger.job('billing:invoices', { events: [event('e1', 'billing:invoices', { kind: 'defined', by: 'web1#1' })] })
  const pause = { since: START, until: START + 3_600_000, by: 'ada', why: 'month end' }
  await ledger.job('billing:digest', {
    head: { pause },
    events: [event('e2', 'billing:digest', { kind: 'paused', at: START + 1, why: 'month end' })],
  })
  await ledger.job('mail:digest')
  const first = await ledger.running(web, 'billing:invoices', '2026-11-27T00:00')
  ledger.now += 1_500
  await ledger.settled(first)
  const covers = { from: '2026-11-20T00:00', to: '2026-11-26T00:00', count: 7 }
  const missed = queued('billing:invoices', '2026-11-20T00:00', {
    state: 'missed',
    reason: 'too-old',
    covers,
    endedAt: START,
    createdAt: START + 1,
  })
  await ledger.change('billing:invoices', { runs: [fresh(missed)] })
  const second = await ledger.running(web, 'billing:invoices', '2026-11-28T00:00', { data: '{"month":11}' })
  await ledger.settled(second, {
    state: 'failed',
    reason: 'error',
    error: { name: 'RateError', message: 'no rates', stack: null },
    result: null,
  })
  await ledger.running(web, 'billing:invoices', '2026-11-29T00:00')
  // Commands go by the real clock: seen a minute ahead of it, a node is live for as long as these tests take.
  ledger.now = Date.now() + 60_000
  await ledger.node('web2#2', WEB)
})
afterAll(async () => {
  command.remove()
  await ledger.remove()
})

const where = () => ['--store', ledger.url, '--fleet', FLEET]

async function json(...args: string[]): Promise<unknown> {
  const { code, out, err } = await command.run([...args, ...where(), '--json'])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

const INVOICES = {
  job: 'billing:invoices',
  service: 'billing',
  name: 'invoices',
  schedule: { cron: '0 0 * * *', timeZone: 'Europe/Helsinki', dstGap: 'next' },
  next: '2026-11-29T22:00:00.000Z',
  paused: null,
  retired: false,
  failures: 1,
  running: 1,
  waiting: 0,
}

const FAILED = {
  job: 'billing:invoices',
  key: '2026-11-28T00:00',
  state: 'failed',
  reason: 'error',
  cause: 'schedule',
  attempt: 1,
  node: 'host#1',
  createdAt: '2026-11-29T00:00:01.500Z',
  startedAt: '2026-11-29T00:00:01.500Z',
  endedAt: '2026-11-29T00:00:01.500Z',
  tookMs: 0,
  data: { month: 11 },
  result: null,
  error: { name: 'RateError', message: 'no rates', stack: null },
}

describe('what the command line shows of a ledger', () => {
  it('jobs', async () => {
    const paused = { since: '2026-11-29T00:00:00.000Z', until: '2026-11-29T01:00:00.000Z', by: 'ada', why: 'month end' }
    const digest = { ...INVOICES, job: 'billing:digest', name: 'digest', next: null, paused, failures: 0, running: 0 }
    const mail = { ...digest, job: 'mail:digest', service: 'mail', next: INVOICES.next, paused: null }
    expect(await json('jobs')).toEqual([digest, INVOICES, mail])
    expect(await json('jobs', '--service', 'mail')).toEqual([mail])
  })

  it('one job, by its name or its id', async () => {
    const found = await json('job', 'invoices')
    expect(found).toMatchObject({
      ...INVOICES,
      definition: { hash: 'hash-1', concurrency: 1, overlap: 'skip' },
      hostedBy: ['web2#2'],
      lastRuns: [{ state: 'running' }, { state: 'failed' }, { state: 'missed' }, { state: 'succeeded' }],
    })
    expect(await json('job', 'billing:invoices')).toEqual(found)
  })

  it('runs, newest first', async () => {
    const all = (await json('runs')) as { key: string; tookMs: number | null }[]
    expect(all.map((run) => run.key)).toEqual([
      '2026-11-29T00:00',
      '2026-11-28T00:00',
      '2026-11-20T00:00',
      '2026-11-27T00:00',
    ])
    expect(all.at(-1)).toMatchObject({ state: 'succeeded', tookMs: 1_500, result: { made: 3 }, attempt: 1 })
    expect(await json('runs', 'invoices', '--state', 'failed', 'missed')).toMatchObject([
      FAILED,
      { state: 'missed', reason: 'too-old', covers: { from: '2026-11-20T00:00', to: '2026-11-26T00:00', count: 7 } },
    ])
    expect(await json('runs', 'invoices', '--limit', '1')).toHaveLength(1)
    expect(await json('runs', 'mail:digest')).toEqual([])
  })

  it('one run: by its key, by an occurrence it covers, by its attempt', async () => {
    const whole = {
      ...FAILED,
      token: 7,
      attempts: [{ outcome: null, node: 'host#1', startedAt: '2026-11-29T00:00:01.500Z' }],
    }
    expect(await json('run-info', 'invoices', '2026-11-28T00:00')).toMatchObject(whole)
    expect(await json('run-info', 'invoices', '2026-11-23T00:00')).toMatchObject({
      key: '2026-11-20T00:00',
      state: 'missed',
    })
    expect(await json('run-info', 'billing:invoices 2026-11-28T00:00.1')).toMatchObject(whole)
  })

  it('nodes', async () => {
    expect(await json('nodes')).toMatchObject([
      {
        label: 'web2#2',
        services: ['billing'],
        state: 'live',
        attends: true,
        room: true,
        jobs: 1,
        release: null,
        zoneData: '2026a',
        seenAt: new Date(ledger.now).toISOString(),
        endedAt: null,
      },
    ])
  })

  it('events', async () => {
    const paused = {
      at: '2026-11-29T00:00:00.001Z',
      job: 'billing:digest',
      kind: 'paused',
      by: 'ada',
      why: 'month end',
      data: null,
      id: 'e2',
    }
    expect(await json('events')).toMatchObject([paused, { kind: 'defined', by: 'web1#1' }])
    expect(await json('events', 'billing:digest')).toEqual([paused])
    expect(await json('events', '--limit', '1')).toEqual([paused])
  })

  it('tables for people, a line each', async () => {
    const table = async (...args: string[]) => (await command.run([...args, ...where()])).out
    expect((await table('jobs')).split('\n')).toEqual([
      'job               schedule                    next                  running  waiting  failures  state',
      'billing:digest    0 0 * * *  Europe/Helsinki                        0        0        0         paused until 2026-11-29T01:00:00Z by ada',
      'billing:invoices  0 0 * * *  Europe/Helsinki  2026-11-29T22:00:00Z  1        0        1',
      'mail:digest       0 0 * * *  Europe/Helsinki  2026-11-29T22:00:00Z  0        0        0',
      '',
    ])
    expect(await table('runs')).toContain('2026-11-20T00:00 to 2026-11-26T00:00 (7)  missed     too-old')
    expect(await table('run-info', 'invoices', '2026-11-28T00:00')).toMatch(/error +RateError: no rates\n/)
    expect(await table('job', 'invoices')).toMatch(/hosted by +web2#2\n/)
  })

  it('the ledger that two variables name', async () => {
    const { out } = await command.run(['jobs', '--json'], { FLEETCRON_STORE: ledger.url, FLEETCRON_FLEET: FLEET })
    expect(JSON.parse(out)).toHaveLength(3)
  })
})

describe('what it refuses', () => {
  it.each([
    [['job', 'invoces'], 2, "has no job 'invoces': did you mean 'invoices'?"],
    [['runs', 'something else'], 2, "has no job 'something else'; fleetcron jobs lists them."],
    [['job', 'digest'], 2, "Several services have a job 'digest': name one of billing:digest, mail:digest."],
    [['run-info', 'invoices', '2026-01-01T00:00'], 2, "Job 'billing:invoices' has no run '2026-01-01T00:00'"],
    [['run-info', 'never.1'], 2, "no run whose last attempt is 'never.1'"],
    [['runs', '--state', 'done'], 2, 'Allowed choices are queued, '],
    [['jobs', '--fleet', 'biling'], 2, "no job and no node of fleet 'biling': look at --fleet"],
    [['jobs', '--store', 'sqlite:/nowhere/ledger.db'], 75, 'There is no ledger /nowhere/ledger.db'],
    [['jobs', '--store', 'postgres://app:hunter2@127.0.0.1:1/app'], 75, 'cannot be used'],
    [['jobs', '--store', 'memory:'], 2, 'seen by its own process only'],
    [['jobs', '--store', 'mongodb://x:hunter2@y'], 2, 'knows no mongodb: stores'],
  ])('%j: %i', async (args, code, message) => {
    const result = await command.run([args[0] ?? '', ...where(), ...args.slice(1)])
    expect(result).toMatchObject({ code, out: '' })
    expect(result.err).toContain(message)
    expect(result.err).toMatch(/^fleetcron: [^\n]+\n$/)
    expect(result.err).not.toContain('hunter2')
  })

  it('a command that is told neither the ledger nor the fleet', async () => {
    const none = { FLEETCRON_STORE: '', FLEETCRON_FLEET: '' }
    expect(await command.run(['jobs', '--fleet', FLEET], none)).toMatchObject({
      code: 2,
      err: expect.stringContaining('Which ledger?'),
    })
    expect(await command.run(['jobs', '--store', ledger.url], none)).toMatchObject({
      code: 2,
      err: expect.stringContaining('Which fleet?'),
    })
  })
})
