import { type Connection, createConnection } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../src/store/port.js'
import { change, creation, fresh, granted, queued, settlement } from '../src/testing/store/builders.js'
import { noting } from './mysql/noting.js'
import { MysqlPlace, poolOf } from './mysql/place.js'
import { Detour } from './postgres/detour.js'
import { TestSession } from './postgres/session.js'
import { type OwnServer, ownServer } from './servers/index.js'

let server: OwnServer
let place: MysqlPlace
const opened: Store[] = []
const holders: Connection[] = []

beforeAll(async () => {
  server = await ownServer('mariadb')
})
afterAll(() => server.end())
beforeEach(() => {
  place = new MysqlPlace(server.url)
})
afterEach(async () => {
  for (const holder of holders.splice(0)) holder.destroy()
  for (const store of opened.splice(0)) await store.close()
  await place.remove()
})

async function open(...how: Parameters<MysqlPlace['store']>): Promise<Store> {
  const store = place.store(...how)
  await store.open()
  opened.push(store)
  return store
}

/** A transaction of somebody else's that holds a job's row. */
async function holding(job: string): Promise<Connection> {
  const holder = await createConnection(server.url)
  holders.push(holder)
  await holder.query('BEGIN')
  await holder.query(`SELECT job FROM ${place.prefix}job WHERE fleet = 'f' AND job = '${job}' FOR UPDATE`)
  return holder
}

describe('a MySQL ledger whose server stops', () => {
  it('says so meanwhile, works again by itself, and has lost nothing', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    const [run] = await session.running(['billing:a'])
    const { incarnation } = await session.beat()
    await server.kill()
    for (const call of [
      () => session.beat(),
      () => session.attend(),
      () => store.load({}),
      () => store.jobs({ limit: 1 }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/^The ledger fleetcron at 127\.0\.0\.1:\d+ cannot be used: /),
      })
    }
    await server.again()
    expect(run && (await store.settle([settlement(run, 1)]))).toEqual(['settled'])
    expect(await session.beat()).toMatchObject({ alive: true, known: true, incarnation })
    expect(await session.outcomes(creation('c', 'billing:b'))).toEqual(['won'])
  })

  it('gives up a connection that has fallen silent, and with it all that are as old', async () => {
    const detour = await Detour.before(server.url)
    const far = new MysqlPlace(detour.url)
    const store = far.store('f', { statementMs: 1_000 })
    await store.open()
    const session = await TestSession.begin(store)
    await Promise.all([1, 2, 3].map(() => store.load({})))
    await session.beat()
    detour.silence()
    await expect(store.load({})).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/did not answer in 1000 ms; whether the call took effect is not known\.$/),
    })
    await Promise.all([1, 2, 3].map(() => store.load({})))
    await expect(session.beat()).rejects.toThrow('did not answer')
    expect((await session.beat()).alive).toBe(true)
    await store.close()
    await far.remove()
    await detour.close()
  })
})

describe('a MySQL ledger that was wiped, read back or set back', () => {
  it('is known as another one', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    const seen = [(await session.beat()).incarnation]
    expect((await store.open()).incarnation).toBe(seen[0])
    await store.close()
    // Read back from a dump: the same word in a table that was made later.
    await sameSecondIsOver(place)
    await place.sql(`
      CREATE TABLE PREFIX_copy AS SELECT * FROM PREFIX_meta; DROP TABLE PREFIX_meta;
      RENAME TABLE PREFIX_copy TO PREFIX_meta`)
    seen.push((await session.beat()).incarnation)
    // Set back by a backup or a failover: the session has fewer beats than were answered.
    await place.sql('UPDATE PREFIX_node SET beats = beats - 2')
    seen.push((await session.beat()).incarnation)
    expect((await session.attend()).incarnation).toBe(seen[2])
    expect((await session.beat()).incarnation).toBe(seen[2])
    // Wiped and made anew.
    await place.sql(`UPDATE PREFIX_meta SET value = 'another' WHERE name = 'incarnation'`)
    seen.push((await session.attend()).incarnation)
    expect(new Set(seen).size).toBe(4)
  })
})

describe('how far a MySQL ledger can be trusted', () => {
  it('is told by the server’s settings', async () => {
    const store = await open('f')
    expect(await store.open()).toMatchObject({ kind: 'mysql', grade: 'correct' })
    await place.sql('SET GLOBAL innodb_flush_log_at_trx_commit = 2')
    expect(await store.open()).toMatchObject({
      grade: 'efficient',
      remark: expect.stringContaining("The server's setting innodb_flush_log_at_trx_commit is 2: "),
    })
    await place.sql('SET GLOBAL innodb_flush_log_at_trx_commit = 1')
    await store.close()
    await store.close()
  })

  it('and a replica, which can only be read, is refused', async () => {
    await place.sql(`SET GLOBAL read_only = 1`)
    await expect(place.store('f').open()).rejects.toThrow('it is read-only, a replica perhaps')
    await place.sql(`SET GLOBAL read_only = 0`)
  })
})

describe('MySQL ledgers in each other’s way', () => {
  it('lose races in order, and every deadlock is tried again', async () => {
    const stores = [await open('f'), await open('f'), await open('f')]
    const jobs = Array.from({ length: 8 }, (_, i) => `billing:${i}`)
    const sessions = await Promise.all(stores.map((store, i) => TestSession.begin(store, `s${i}`, 600_000)))
    const [first] = sessions
    const runs = (await first?.running(jobs, 30)) ?? []
    const turns = stores.map(async (store, i) => {
      const session = sessions[i] as TestSession
      const won: string[] = []
      for (let turn = 0; turn < 20; turn++) {
        // Each takes the jobs in an order of its own; all of them want all of them.
        const mine = turn % 2 === i % 2 ? jobs : jobs.toReversed()
        const part = runs.filter((_, n) => n % 20 === turn && n % 3 >= i % 2)
        const { jobs: read } = await store.load({ jobs: mine })
        const claims = mine.flatMap((job) => {
          const found = read.get(job)
          return found ? [change(`${i} ${turn} ${job}`, found, { runs: [fresh(queued(job, `turn ${turn}`))] })] : []
        })
        const [outcomes] = await Promise.all([
          session.outcomes(...claims),
          store.settle(part.toReversed().map((run) => settlement(run, 1))),
          session.beat(),
          session.attend(),
          session.commit(creation(`new ${i} ${turn}`, `billing:new ${turn}`), creation(`old ${i}`, 'billing:old')),
          store.prune({ before: 0, limit: 5 }),
        ])
        won.push(...outcomes)
      }
      return won
    })
    const outcomes = (await Promise.all(turns)).flat()
    expect(outcomes.filter((outcome) => !['won', 'stale', 'clash'].includes(outcome))).toEqual([])
    const { tally } = await (first as TestSession).read('billing:0')
    expect(tally.settled).toBeGreaterThan(0)
    const settled = await stores[0]?.settle(runs.map((run) => settlement(run, 1)))
    expect(new Set(settled)).toEqual(new Set(['settled']))
    const [row] = await place.sql<{ total: number }>('SELECT SUM(settled) AS total FROM PREFIX_job')
    expect(Number(row?.total)).toBe(runs.length)
  })

  it('do not wait for a job that is locked: its change is stale, the others are committed', async () => {
    const session = await TestSession.begin(await open('f'))
    await session.running(['billing:a', 'billing:b', 'billing:c'])
    const read = await Promise.all(['billing:a', 'billing:b', 'billing:c'].map((job) => session.read(job)))
    const changes = read.map((job, i) => change(`c${i}`, job))
    const holder = await holding('billing:b')
    expect(await session.outcomes(...changes)).toEqual(['won', 'stale', 'won'])
    await holder.query('ROLLBACK')
    expect(await session.outcomes(...changes)).toEqual(['won', 'won', 'won'])
    await holder.end()
  })

  it('say all of a call in one message, so that a process which stops in between holds up nobody', async () => {
    const pool = poolOf(server.url, 4)
    const messages: string[] = []
    const store = place.storeOn(noting(pool, messages), 'f')
    await store.open()
    const session = await TestSession.begin(store)
    const [run] = await session.running(['billing:a'])
    const read = await session.read('billing:a')
    await session.beat()
    const { now } = await store.load({})
    for (const call of [
      () => session.attend(),
      () => session.beat(),
      () => store.load({ jobs: ['billing:a'], keys: [{ job: 'billing:a', key: 'k0' }], requests: ['e'], nodes: true }),
      () => store.commit(session.ref, now, [change('c', read, { runs: [fresh(queued('billing:a', 'more'))] })]),
      () => store.settle(run ? [settlement(run, 1)] : []),
    ]) {
      messages.length = 0
      await call()
      expect(messages).toHaveLength(1)
    }
    await store.close()
    await pool.end()
  })

  it('begin no transaction that the same message does not end', async () => {
    const pool = poolOf(server.url, 4)
    const messages: string[] = []
    const store = place.storeOn(noting(pool, messages), 'f')
    await store.open()
    const session = await TestSession.begin(store)
    const runs = await session.running(['billing:a', 'billing:b'])
    const read = await session.read('billing:a')
    const late = [change('late', { ...read, version: 'other' }), change('good', await session.read('billing:b'))]
    expect(await session.outcomes(...late)).toEqual(['stale', 'won'])
    await store.settle(runs.map((run) => settlement(run, 1)))
    await store.settle([
      ...runs.map((run) => settlement(run, 1)),
      settlement({ ...queued('x', 'k'), attemptId: 'a' }, 1),
    ])
    await store.prune({ before: 0, limit: 5 })
    const count = (word: RegExp) => messages.filter((sql) => word.test(sql)).length
    expect(count(/START TRANSACTION/)).toBeGreaterThan(4)
    expect(messages.filter((sql) => /START TRANSACTION/.test(sql) && !/COMMIT/.test(sql))).toEqual([])
    await store.close()
    await pool.end()
  })

  it('let a look for a commit in doubt wait until it is done', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store, 's', 600_000)
    await session.commit(creation('c', 'billing:a', { runs: [fresh(queued('billing:a', 'k'))] }))
    const [waiting] = (await session.read('billing:a')).runs
    if (!waiting) throw new Error('the run waits')
    const mine = granted(waiting, { session: 's', attemptId: 'doubt.1', token: 1, at: 1 })
    // A commit that has written the attempt and is not through yet.
    const holder = await holding('billing:a')
    await holder.query(`UPDATE ${place.prefix}run SET attempt = 'doubt.1', body = ? WHERE run_key = 'k'`, [
      JSON.stringify(mine),
    ])
    const found = store.load({ attempts: ['doubt.1'] })
    await waits(place)
    await holder.query('COMMIT')
    expect((await found).runs).toEqual([mine])
    await holder.end()
  })

  it('beat while handlers have used up the pool (F26)', async () => {
    const pool = poolOf(server.url, 2)
    const store = place.storeOn(pool, 'f', { statementMs: 2_000 })
    await store.open()
    const session = await TestSession.begin(store)
    await session.beat()
    const taken = await pool.getConnection()
    expect((await session.beat()).alive).toBe(true)
    await expect(store.load({})).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    taken.release()
    await store.load({})
    await store.close()
    await pool.end()
  })
})

describe('a commit that comes late', () => {
  it('is refused by the server’s clock, and leaves nothing', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store, 's', 1_000)
    const { now } = await store.load({})
    const late = await store.commit(session.ref, now - 101, [creation('late', 'billing:late')])
    expect(late.expired).toBe(true)
    expect(await place.sql('SELECT job FROM PREFIX_job')).toEqual([])
  })
})

/** Resolves when a statement waits for a lock. */
async function waits(at: MysqlPlace): Promise<void> {
  for (;;) {
    const [row] = await at.sql<{ count: number }>('SELECT COUNT(*) AS count FROM information_schema.innodb_lock_waits')
    if (row && Number(row.count) > 0) return
  }
}

/** Tables know the second in which they were made: resolves in the next one. */
async function sameSecondIsOver(at: MysqlPlace): Promise<void> {
  const second = async () => (await at.sql<{ at: number }>('SELECT UNIX_TIMESTAMP() AS at'))[0]?.at
  const before = await second()
  while ((await second()) === before) await at.sql('SELECT 1')
}
