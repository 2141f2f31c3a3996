import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { examine, type Facts } from '../../src/cli/findings.js'
import type { Aggregate, Run } from '../../src/ledger/types.js'
import type { NodeRow } from '../../src/store/port.js'
import { DAY, granted, header, hello, MINUTE, queued, SECOND, START, stored } from '../../src/testing/store/builders.js'
import { CommandLine } from './command.js'
import { FLEET, PreparedLedger } from './ledger.js'

const JOB = 'billing:invoices'

function node(label: string, over: Partial<NodeRow> & { said?: Partial<NodeRow['hello']> } = {}): NodeRow {
  const { said, ...rest } = over
  const times = { startedAt: START, seenAt: START, leaseEnd: START + 10 * SECOND, endedAt: null }
  const manifest = { [JOB]: 'hash-1' }
  return {
    session: `s-${label}`,
    node: label,
    hello: hello({ label, manifest, ...said }),
    room: true,
    ...times,
    ...rest,
  }
}

function job(over: Partial<Aggregate> & { head?: Parameters<typeof header>[1] } = {}): Aggregate {
  const { head, ...rest } = over
  const tally = { settled: 0, failures: 0, succeededUntil: null, tokenFloor: 0 }
  return { header: header(JOB, head), tally, version: 'v', definition: stored().content, runs: [], ...rest }
}

function held(session: string, over: Partial<Run> = {}): Run {
  return { ...granted(queued(JOB, 'k'), { session, attemptId: 'a', token: 1, at: START }), ...over }
}

/** A run that the fleet started when a minute had passed, and one that was poked. */
function late(over: Partial<Run> = {}): Run {
  return { ...held('s-web1'), place: false, scheduledAt: START, readyAt: START + MINUTE, state: 'succeeded', ...over }
}

function poked(): Run {
  return late({ readyAt: 0 })
}

function facts(over: Partial<Facts> = {}): Facts {
  return {
    info: { kind: 'sqlite', grade: 'correct', remark: null, incarnation: 'i' },
    now: START,
    wallAheadMs: 0,
    doubtMs: 1,
    nodes: [node('web1')],
    jobs: [job()],
    unreadable: [],
    poked: new Map(),
    latest: [],
    examination: null,
    business: null,
    ...over,
  }
}

const later = (ms: number, over: Partial<Facts>): Facts => facts({ now: START + ms, ...over })
const seen = (ms: number, over: Parameters<typeof node>[1] = {}) =>
  node('web1', { seenAt: START + ms, leaseEnd: START + ms + 10 * SECOND, ...over })
const stop = { kind: 'cancel', at: START, by: 'ada', why: null } as const
const noTimeout = stored().content
const withTimeout = { ...noTimeout, timeoutMs: MINUTE }
const pause = { since: START, until: null, by: 'ada', why: 'rates' }
const own = { definition: { ...noTimeout, handler: 'digest' } }

describe('what the doctor finds', () => {
  it.each<[string, Facts, [finding: string, grave: boolean][], RegExp]>([
    ['nothing in a fleet that is well', facts(), [], /^$/],
    [
      'a store that can lose writes',
      facts({ info: { kind: 'redis', grade: 'efficient', remark: 'It may evict.', incarnation: 'i' } }),
      [['store-grade', false]],
      /redis is efficient, not correct: It may evict\./,
    ],
    [
      'a clock that is off',
      facts({ wallAheadMs: -5_000, doubtMs: 500 }),
      [['clock-offset', false]],
      /5 s or more behind the store/,
    ],
    [
      'a clock that is far off',
      facts({ wallAheadMs: 120_000 }),
      [['clock-offset', true]],
      /120 s or more ahead of the store/,
    ],
    ['no offset within the doubt', facts({ wallAheadMs: 3_000, doubtMs: 2_000 }), [], /^$/],
    [
      'a fleet of which nobody is live',
      facts({ nodes: [node('web1', { endedAt: START })] }),
      [['no-node', true]],
      /No node/,
    ],
    [
      'a fleet that only speaks',
      facts({ nodes: [node('web1', { said: { attends: false } })] }),
      [['no-node', true]],
      /No node/,
    ],
    ['a silent node', later(26 * SECOND, {}), [['no-node', true]], /No node/],
    [
      'a row that cannot be read',
      facts({ unreadable: [{ job: JOB, why: 'its header is not JSON' }] }),
      [['unreadable', true]],
      /'billing:invoices': its header is not JSON/,
    ],
    [
      'zone data that differ',
      facts({ nodes: [node('web1'), node('web2', { said: { zoneData: '2025c' } })] }),
      [['zone-data', false]],
      /2026a \(web1\); 2025c \(web2\)/,
    ],
    [
      'manifests that disagree',
      facts({ nodes: [node('web1'), node('web2', { said: { manifest: { [JOB]: 'hash-2' } } })] }),
      [['manifests-disagree', false]],
      /2 different definitions: hash-1 \(web1\); hash-2 \(web2\)/,
    ],
    [
      'a job that nobody hosts',
      facts({ nodes: [node('web1', { said: { manifest: {} } })] }),
      [['unhosted', true]],
      /no live node/,
    ],
    [
      'a job on request that nobody hosts',
      facts({
        nodes: [node('web1', { said: { manifest: {} } })],
        jobs: [job({ definition: { ...noTimeout, schedule: null } })],
      }),
      [['unhosted', false]],
      /no live node/,
    ],
    [
      'no fault in a retired job',
      facts({ nodes: [node('web1', { said: { manifest: {} } })], jobs: [job({ head: { retired: true } })] }),
      [],
      /^$/,
    ],
    [
      'no fault in a schedule of the store',
      facts({ nodes: [node('web1', { said: { manifest: {} } })], jobs: [job(own)] }),
      [],
      /^$/,
    ],
    [
      'a job that is due and left alone',
      later(5 * MINUTE, { nodes: [seen(5 * MINUTE)], jobs: [job({ head: { wakeAt: START } })] }),
      [['overdue', true]],
      /has been due for 5 min/,
    ],
    [
      'a pause that somebody forgot',
      later(8 * DAY, { nodes: [seen(8 * DAY)], jobs: [job({ head: { pause } })] }),
      [['long-pause', false]],
      /paused for 8 d by ada: rates/,
    ],
    [
      'a lease near its margin',
      later(8 * SECOND, { jobs: [job({ runs: [held('s-web1')] })] }),
      [['lease-margin', false]],
      /web1 holds a run, and 2 of 10 s are left/,
    ],
    [
      'a lease that ran out long ago',
      later(2 * MINUTE, {
        nodes: [node('web1'), seen(2 * MINUTE, { session: 'other' })],
        jobs: [job({ runs: [held('s-web1')] })],
      }),
      [
        ['lease-margin', true],
        ['late-beats', false],
      ],
      /ran out 110 s ago/,
    ],
    ['no fault in a lease that holds nothing', later(8 * SECOND, {}), [], /^$/],
    [
      'a handler that does not obey',
      later(2 * MINUTE, { nodes: [seen(2 * MINUTE)], jobs: [job({ runs: [held('s-web1', { stop })] })] }),
      [['abandoned-handler', true]],
      /goes on at host#1, 2 min after ada asked it to stop/,
    ],
    [
      'a handler past its timeout',
      later(3 * MINUTE, {
        nodes: [seen(3 * MINUTE)],
        jobs: [job({ runs: [held('s-web1')], definition: withTimeout })],
      }),
      [['abandoned-handler', true]],
      /goes on at host#1, 2 min after its timeout/,
    ],
    [
      'a job that fails and fails',
      facts({ jobs: [job({ tally: { settled: 3, failures: 3, succeededUntil: null, tokenFloor: 0 } })] }),
      [['failing', false]],
      /failed 3 times in a row/,
    ],
    [
      'a job that nobody pokes',
      facts({ poked: new Map([[JOB, [late(), late({ cause: 'manual', readyAt: 0 }), late(), late(), poked()]]]) }),
      [['unpoked', false]],
      /Nobody pokes job 'billing:invoices': its last 3 runs were started by the fleet itself, 60 s after the instant\./,
    ],
    [
      'a job whose only run nobody poked',
      facts({ poked: new Map([[JOB, [late()]]]) }),
      [['unpoked', false]],
      /its only run of late was started/,
    ],
    [
      'nothing where pokes come, but for a few, or nothing tells yet',
      facts({
        poked: new Map([
          [JOB, [late({ attempt: 0, state: 'queued' }), late(), poked(), late()]],
          ['billing:other', [late({ attempt: 2 }), late({ cause: 'catch-up' })]],
        ]),
      }),
      [],
      /^$/,
    ],
  ])('%s', (_, given, expected, sentence) => {
    const found = examine(given)
    expect(found.map(({ finding, grave }) => [finding, grave])).toEqual(expected)
    expect(found.map(({ what }) => what).join('\n')).toMatch(sentence)
    for (const { remedy } of found) expect(remedy).toMatch(/^[\w`].{15,}$/)
  })

  it('the grave first', () => {
    const found = examine(facts({ wallAheadMs: 5_000, nodes: [], unreadable: [{ job: JOB, why: 'it is not JSON' }] }))
    expect(found.map(({ grave }) => grave)).toEqual([true, true, false])
  })
})

describe('fleetcron doctor', () => {
  let command: CommandLine
  let ledger: PreparedLedger
  beforeAll(async () => {
    command = await CommandLine.build()
  })
  afterAll(() => command.remove())
  beforeEach(async () => {
    // Commands go by the real clock: seen a minute ahead of it, a node is live for as long as a test takes.
    ledger = await PreparedLedger.make(Date.now() + MINUTE)
    await ledger.node('web1', { manifest: { [JOB]: 'hash-1' } })
    await ledger.job(JOB)
  })
  afterEach(() => ledger.remove())

  const doctor = (...more: string[]) => command.run(['doctor', '--store', ledger.url, '--fleet', FLEET, ...more])

  it('ends with 0 where nothing is grave, and says what it looked at', async () => {
    const { code, out } = await doctor('--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ store: { kind: 'sqlite', grade: 'correct' }, jobs: 1, nodes: 2 })
    // The store's clock, of which nobody turned the real one, is this machine's.
    expect(JSON.parse(out).findings).toEqual([])
  })

  it('ends with 1 where something is, and tells the remedy', async () => {
    await ledger.job('billing:digest')
    ledger.spoil('billing:digest')
    await ledger.node('web2', { manifest: { 'billing:digest': 'hash-1' }, zoneData: '2025c' })
    const { code, out } = await doctor()
    expect(code).toBe(1)
    expect(out).toMatch(/^GRAVE {2}unreadable: Job 'billing:digest': .+\n {7}Put the row right/)
    expect(out).toMatch(/note {3}zone-data: .*2026a \(founder, web1\); 2025c \(web2\)/)
    expect(out).toContain('1 grave, 1 to know; 1 job, 3 live nodes, store sqlite (correct)')
    const json = await doctor('--json')
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out).findings).toMatchObject([
      { finding: 'unreadable', grave: true },
      { finding: 'zone-data', grave: false },
    ])
  })

  it('looks at the runs of jobs that are poked', async () => {
    const job = 'billing:poked'
    await ledger.job(job, { definition: stored({ content: { ...noTimeout, pokeGraceMs: MINUTE } }) })
    const session = await ledger.node('web2', { manifest: { [JOB]: 'hash-1', [job]: 'hash-1' } })
    await ledger.running(session, job, '2026-11-29T00:00', { readyAt: ledger.now + MINUTE })
    const { out } = await doctor('--json')
    expect(JSON.parse(out).findings).toMatchObject([{ finding: 'unpoked', what: expect.stringContaining(job) }])
  })

  it('ends with 75 where the store is away', async () => {
    const away = ['doctor', '--store', 'sqlite:/nowhere/ledger.db', '--fleet', FLEET]
    expect(await command.run(away)).toMatchObject({
      code: 75,
      out: '',
      err: expect.stringContaining('There is no ledger'),
    })
  })
})
