import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Finding } from '../../src/cli/findings.js'
import { lostNodes } from '../../src/cli/lost-nodes.js'
import { serverFindings } from '../../src/cli/server-findings.js'
import { uncertainEffects } from '../../src/cli/uncertain.js'
import { sqlite } from '../../src/effect/sqlite/index.js'
import type { Attempt, Run } from '../../src/ledger/types.js'
import type { Examination } from '../../src/store/examination.js'
import type { NodeRow } from '../../src/store/port.js'
import { DAY, granted, hello, MINUTE, queued, SECOND, START } from '../../src/testing/store/builders.js'
import { attemptOf } from '../effect/business-folder.js'
import { CommandLine } from './command.js'
import { FLEET, PreparedLedger } from './ledger.js'

const JOB = 'billing:invoices'
const now = START + 5 * MINUTE

function node(label: string, session: string, seenAgo: number, over: Partial<NodeRow> = {}): NodeRow {
  const seenAt = now - seenAgo
  const times = { startedAt: START, seenAt, leaseEnd: seenAt + 10 * SECOND, endedAt: null }
  return { session, node: `id-${label}`, hello: hello({ label }), room: true, ...times, ...over }
}

/** A run with the attempts of these nodes; how the last one ended is of no interest. */
function run(...attempts: { node: string; session: string; lostAgo?: number }[]): Run {
  const tried = attempts.map(({ node, session, lostAgo }, index): Attempt => {
    const endedAt = lostAgo === undefined ? null : now - lostAgo
    const outcome = lostAgo === undefined ? null : 'lost'
    const startedAt = (endedAt ?? now) - MINUTE / 2
    return { id: `${session}.${index}`, session, node, token: index + 1, startedAt, endedAt, outcome, note: null }
  })
  return { ...granted(queued(JOB, 'k'), { session: 's', attemptId: 'a', token: 9, at: START }), attempts: tried }
}

const brief = (found: Finding[]) => found.map(({ finding, grave }) => [finding, grave])
const told = (found: Finding[]) => found.map(({ what }) => what).join('\n')

describe('nodes that were lost', () => {
  it('nothing is said of nodes that live, stop well, or die once', () => {
    const nodes = [
      node('web1', 'a', SECOND),
      node('web2', 'b', MINUTE, { endedAt: now - MINUTE }),
      node('web3', 'c', MINUTE),
    ]
    expect(lostNodes({ nodes, latest: [run({ node: 'web3', session: 'c', lostAgo: 40 * SECOND })], now })).toEqual([])
  })

  it('several that have gone silent, or whose sessions ran out, had no time to stop', () => {
    const ranOut = node('web3', 'c', MINUTE, { endedAt: now - 40 * SECOND, leaseEnd: now - 50 * SECOND })
    const found = lostNodes({ nodes: [node('web1', 'a', SECOND), node('web2', 'b', MINUTE), ranOut], latest: [], now })
    expect(brief(found)).toEqual([['vanished', false]])
    expect(told(found)).toContain('2 nodes have gone without stopping: web2, web3.')
  })

  it('runs tell of those of the day, and not of earlier ones', () => {
    const latest = [
      run({ node: 'web7', session: 'g', lostAgo: 5 * 60 * MINUTE }, { node: 'web1', session: 'a' }),
      run({ node: 'web8', session: 'h', lostAgo: 3 * 60 * MINUTE }, { node: 'web1', session: 'a' }),
      run({ node: 'web9', session: 'i', lostAgo: 2 * DAY }),
    ]
    const found = lostNodes({ nodes: [node('web1', 'a', SECOND)], latest, now })
    expect(brief(found)).toEqual([['vanished', false]])
    expect(told(found)).toContain('2 nodes have gone without stopping: web7, web8.')
  })

  it('a node that was seen after its session was lost has late beats', () => {
    const latest = [
      run({ node: 'web1', session: 'a', lostAgo: 60 * MINUTE }, { node: 'web2', session: 'b' }),
      run({ node: 'web1', session: 'a', lostAgo: 60 * MINUTE }),
      run({ node: 'web1', session: 'a2', lostAgo: 30 * MINUTE }),
      run({ node: 'web3', session: 'c', lostAgo: 90 * MINUTE }, { node: 'web3', session: 'c2', lostAgo: 80 * MINUTE }),
    ]
    const found = lostNodes({ nodes: [node('web1', 'a3', SECOND)], latest, now })
    expect(brief(found)).toEqual([['late-beats', false]])
    expect(told(found)).toContain('lost their sessions in the last 24 h and went on')
    expect(told(found)).toContain('web1 (2 times), web3.')
  })
})

const good: Examination = { connections: { used: 20, most: 97 }, pooler: null, eviction: null }

describe('the server of a ledger', () => {
  it.each<[string, Partial<Examination> | null, number, [string, boolean][], RegExp]>([
    ['nothing of a store without a server', null, 500, [], /^$/],
    ['nothing of one that has room', {}, 19, [], /^$/],
    [
      'more pools than connections',
      {},
      20,
      [['pool-size', false]],
      /allows 97 .* 20 are in use.* 20 live nodes may take 100/,
    ],
    ['few connections left', { connections: { used: 80, most: 97 } }, 1, [['pool-size', false]], /80 are in use/],
    ['no connection left', { connections: { used: 95, most: 97 } }, 1, [['pool-size', true]], /1 live node may/],
    [
      'keys that may be thrown away',
      { eviction: 'allkeys-lru' },
      1,
      [['eviction', true]],
      /maxmemory-policy allkeys-lru/,
    ],
    ['keys that stay', { eviction: 'noeviction' }, 1, [], /^$/],
    ['a pooler by transaction', { pooler: 'transaction' }, 1, [['pooler', false]], /transaction mode\), which suits/],
    ['a pooler by session', { pooler: 'session' }, 1, [['pooler', false]], /session mode/],
    ['a pooler by statement', { pooler: 'statement' }, 1, [['pooler', true]], /statement mode/],
    ['nothing of what cannot be told', { connections: null }, 500, [], /^$/],
  ])('%s', (_, seen, nodes, expected, sentence) => {
    const found = serverFindings(seen === null ? null : { ...good, ...seen }, nodes)
    expect(brief(found)).toEqual(expected)
    expect(told(found)).toMatch(sentence)
  })
})

describe('effects of which nobody knows the outcome', () => {
  const effect = (key: string, state: 'intended' | 'uncertain', ago: number) => {
    const rest = { job: null, run: null, idempotencyKey: key, input: null, tries: 1, problem: null }
    return { key, state, intendedAt: now - ago, ...rest }
  }

  it.each<[string, ReturnType<typeof effect>[] | null, [string, boolean][], RegExp]>([
    ['nothing where nobody asked', null, [], /^$/],
    ['nothing of a call that goes on', [effect('a', 'intended', MINUTE)], [], /^$/],
    ['one of late', [effect('a', 'uncertain', MINUTE)], [['uncertain-effects', false]], /One call .* 'a' since/],
    [
      'old ones',
      [effect('a', 'uncertain', MINUTE), effect('b', 'intended', DAY)],
      [['uncertain-effects', true]],
      /2 calls .* the oldest 'b' since/,
    ],
  ])('%s', (_, effects, expected, sentence) => {
    const found = uncertainEffects(effects && { uncertain: effects }, now)
    expect(brief(found)).toEqual(expected)
    expect(told(found)).toMatch(sentence)
  })
})

describe('fleetcron doctor, on a prepared ledger', () => {
  let command: CommandLine
  let ledger: PreparedLedger
  beforeAll(async () => {
    command = await CommandLine.build()
  })
  afterAll(() => command.remove())
  beforeEach(async () => {
    ledger = await PreparedLedger.make(Date.now() - MINUTE / 2)
  })
  afterEach(() => ledger.remove())

  async function findings(...more: string[]) {
    const { code, out, err } = await command.run(['doctor', '--store', ledger.url, '--fleet', FLEET, '--json', ...more])
    expect(err).toBe('')
    const { findings, server } = JSON.parse(out) as { findings: Finding[]; server: unknown }
    return { code, names: findings.map(({ finding }) => finding), findings, server }
  }

  it('tells of nodes that went without stopping', async () => {
    const manifest = { [JOB]: 'hash-1' }
    for (const label of ['web1', 'web2']) await ledger.node(label, { manifest })
    ledger.now = Date.now() + MINUTE / 2
    await ledger.node('web3', { manifest })
    await ledger.job(JOB)
    const { code, names, findings: all, server } = await findings()
    expect({ code, names, server }).toEqual({ code: 0, names: ['vanished'], server: null })
    expect(all[0]).toMatchObject({
      what: expect.stringContaining('web1, web2'),
      remedy: expect.stringContaining('app.enableShutdownHooks()'),
    })
  })

  it('tells of uncertain effects where the business database is named', async () => {
    ledger.now = Date.now() + MINUTE
    await ledger.node('web1', { manifest: { [JOB]: 'hash-1' } })
    await ledger.job(JOB)
    const path = join(ledger.folder, 'business.db')
    const database = new Database(path)
    await sqlite(database).ensure()
    const send = () => {
      throw new Error('socket hang up')
    }
    const act = attemptOf(sqlite(database)).call('charge:42', { input: {}, send, keyValidFor: 0, retry: 0 })
    await expect(act).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN' })
    database.close()
    expect((await findings()).names).toEqual([])
    const asked = await findings('--effects', `sqlite:${path}`)
    expect(asked).toMatchObject({ code: 0, names: ['uncertain-effects'] })
    expect(asked.findings[0]?.what).toContain('charge:42')
  })

  it('tells of a business database without tables of effects, and of everything else', async () => {
    const path = join(ledger.folder, 'empty.db')
    new Database(path).close()
    await ledger.job(JOB)
    const { code, names, findings: all } = await findings('--effects', `sqlite:${path}`)
    expect({ code, names }).toEqual({ code: 1, names: ['no-node', 'effect-tables'] })
    expect(all[1]).toEqual({
      finding: 'effect-tables',
      grave: true,
      what: 'The business database has no table fleetcron_effect, no table fleetcron_fence.',
      remedy: `Look at the URL in --effects, or run fleetcron migrate --effects sqlite:${path}.`,
    })
  })

  it('counts the nodes that are live, as its lines do', async () => {
    await ledger.job(JOB)
    ledger.now = Date.now() + MINUTE
    await ledger.node('web1', { manifest: { [JOB]: 'hash-1' } })
    const where = ['doctor', '--store', ledger.url, '--fleet', FLEET]
    expect(JSON.parse((await command.run([...where, '--json'])).out)).toMatchObject({ jobs: 1, nodes: 1 })
    expect((await command.run(where)).out).toContain('1 job, 1 live node, ')
  })
})
