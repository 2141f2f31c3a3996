import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../src/store/port.js'
import { change, creation, fresh, granted, header, over, queued, settlement } from '../src/testing/store/builders.js'
import { Detour } from './postgres/detour.js'
import { PostgresPlace } from './postgres/place.js'
import { TestSession } from './postgres/session.js'
import { type OwnServer, ownServer } from './servers/index.js'

let server: OwnServer
let place: PostgresPlace
const opened: Store[] = []

beforeAll(async () => {
  server = await ownServer('postgres')
})
afterAll(() => server.end())
beforeEach(() => {
  place = new PostgresPlace(server.url)
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await place.remove()
})

async function open(...how: Parameters<PostgresPlace['store']>): Promise<Store> {
  const store = place.store(...how)
  await store.open()
  opened.push(store)
  return store
}

describe('a Postgres ledger whose server stops', () => {
  it('says so meanwhile, works again by itself, and has lost nothing', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    const heard = ear()
    await store.subscribe?.(heard.hear)
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
        message: expect.stringMatching(/^The ledger postgres at 127\.0\.0\.1:\d+ cannot be used: /),
      })
    }
    await server.again()
    heard.forget()
    expect(await heard.next()).toBe(-1)
    expect(run && (await store.settle([settlement(run, 1)]))).toEqual(['settled'])
    expect(await session.beat()).toMatchObject({ alive: true, known: true, incarnation })
    await session.commit(creation('c', 'billing:b', { header: header('billing:b', { wakeAt: 5, bucket: 77 }) }))
    expect(await heard.next()).toBe(77)
  })

  it('gives up a connection that has fallen silent, and with it all that are as old', async () => {
    const detour = await Detour.before(server.url)
    const far = new PostgresPlace(detour.url)
    const store = far.store('f', { statementMs: 200 })
    await store.open()
    const session = await TestSession.begin(store)
    await Promise.all([1, 2, 3].map(() => store.load({})))
    await session.beat()
    detour.silence()
    await expect(store.load({})).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/did not answer in 1200 ms; whether the call took effect is not known\.$/),
    })
    await Promise.all([1, 2, 3].map(() => store.load({})))
    await expect(session.beat()).rejects.toThrow('did not answer')
    expect((await session.beat()).alive).toBe(true)
    await store.close()
    await far.remove()
    await detour.close()
  })
})

describe('a Postgres ledger that was restored', () => {
  it('is known by its timeline as another one, by those that run too', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    const before = await session.beat()
    expect((await store.open()).incarnation).toBe(before.incarnation)
    await store.close()
    await server.kill()
    // What a restored backup and a promoted replica have in common: the log is read to its end, and a new one begun.
    const data = join(dirname(server.log ?? ''), 'data')
    appendFileSync(join(data, 'postgresql.auto.conf'), "restore_command = '/bin/false'\n")
    writeFileSync(join(data, 'recovery.signal'), '')
    await server.again()
    const after = await again(() => session.beat())
    expect([after.known, after.alive]).toEqual([true, true])
    expect(after.incarnation).not.toBe(before.incarnation)
    expect((await session.attend()).incarnation).toBe(after.incarnation)
  })
})

describe('how far a Postgres ledger can be trusted', () => {
  it.each([
    ['', 'correct', null],
    ['-c synchronous_commit=off', 'efficient', "The server's setting synchronous_commit is off: "],
  ])('is told by the server’s settings: %j', async (options, grade, remark) => {
    const pool = new pg.Pool({ connectionString: server.url, max: 2, options })
    const store = place.storeOn(pool, 'f')
    expect(await store.open()).toMatchObject({
      kind: 'postgres',
      grade,
      remark: remark && expect.stringContaining(remark),
    })
    await store.close()
    await pool.end()
  })
})

describe('Postgres ledgers in each other’s way', () => {
  it('never deadlock, and lose races without a line in the server’s log (F57)', async () => {
    // A deadlock is found before any wait for a lock is given up.
    await place.sql(`ALTER DATABASE postgres SET deadlock_timeout = '5ms'`)
    const stores = [await open('f'), await open('f'), await open('f'), await open('f')]
    const jobs = Array.from({ length: 12 }, (_, i) => `billing:${i}`)
    const sessions = await Promise.all(stores.map((store, i) => TestSession.begin(store, `s${i}`)))
    const [first] = sessions
    const runs = (await first?.running(jobs, 40)) ?? []
    const turns = stores.map(async (store, i) => {
      const session = sessions[i] as TestSession
      const won: string[] = []
      for (let turn = 0; turn < 30; turn++) {
        // Each takes the jobs in an order of its own; all of them want all of them.
        const mine = turn % 2 === i % 2 ? jobs : jobs.toReversed()
        const part = runs.filter((_, n) => n % 30 === turn && n % 4 >= i % 2)
        const { jobs: read } = await store.load({ jobs: mine })
        const claims = mine.flatMap((job) => {
          const found = read.get(job)
          const key = `turn ${turn}`
          return found ? [change(`${i} ${turn} ${job}`, found, { runs: [fresh(queued(job, key))] })] : []
        })
        const [outcomes] = await Promise.all([
          session.outcomes(...claims),
          store.settle(part.toReversed().map((run) => settlement(run, 1))),
          session.beat(),
          session.attend(),
          session.commit(creation(`new ${i} ${turn}`, `billing:new ${turn}`), creation(`old ${i}`, 'billing:old')),
        ])
        won.push(...outcomes)
      }
      return won
    })
    const outcomes = (await Promise.all(turns)).flat()
    expect(new Set(outcomes)).toEqual(new Set(['won', 'stale', 'clash']))
    expect(outcomes.filter((outcome) => outcome === 'won').length).toBeLessThanOrEqual(30 * jobs.length)
    const [{ deadlocks } = {}] = await place.sql('SELECT sum(deadlocks)::integer AS deadlocks FROM pg_stat_database')
    expect(deadlocks).toBe(0)
    const log = readFileSync(server.log ?? '', 'utf8')
    expect(log.split('\n').filter((line) => /ERROR|deadlock/.test(line))).toEqual([])
  })

  it('do not wait for a job that is locked: its change is stale, the others are committed', async () => {
    const session = await TestSession.begin(await open('f'))
    await session.running(['billing:a', 'billing:b', 'billing:c'])
    const read = await Promise.all(['billing:a', 'billing:b', 'billing:c'].map((job) => session.read(job)))
    const changes = read.map((job, i) => change(`c${i}`, job))
    const holder = new pg.Client(server.url)
    await holder.connect()
    await holder.query(`BEGIN; SELECT FROM "${place.schema}".job WHERE job = 'billing:b' FOR UPDATE`)
    expect(await session.outcomes(...changes)).toEqual(['won', 'stale', 'won'])
    await holder.query('ROLLBACK')
    expect(await session.outcomes(...changes)).toEqual(['won', 'won', 'won'])
    await holder.end()
  })

  it('let a look for a commit in doubt wait until it is done', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    await session.commit(creation('c', 'billing:a', { runs: [fresh(queued('billing:a', 'k'))] }))
    const read = await session.read('billing:a')
    const [waiting] = read.runs
    if (!waiting) throw new Error('the run waits')
    const mine = granted(waiting, { session: 's', attemptId: 'doubt.1', token: 1, at: 1 })
    // The commit is held up in the middle of its writing, where nothing limits its wait.
    await place.sql(`
      CREATE FUNCTION SCHEMA.held_up() RETURNS trigger LANGUAGE plpgsql SET lock_timeout TO 0 AS
        $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
      CREATE TRIGGER held_up BEFORE UPDATE ON SCHEMA.job FOR EACH ROW EXECUTE FUNCTION SCHEMA.held_up()`)
    const holder = new pg.Client(server.url)
    await holder.connect()
    await holder.query('SELECT pg_advisory_lock(4711)')
    const commit = session.outcomes(change('doubt', read, { runs: [over(waiting, mine)] }))
    await locked(holder)
    const found = store.load({ attempts: ['doubt.1'] })
    await locked(holder, 2)
    await holder.query('SELECT pg_advisory_unlock(4711)')
    expect(await commit).toEqual(['won'])
    expect((await found).runs).toEqual([mine])
    await holder.end()
  })
})

/** Does it until it works: the first call may meet the connection that was there before. */
async function again<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch {}
  }
}

/** Resolves when so many statements wait for a lock. */
async function locked(client: pg.Client, count = 1): Promise<void> {
  for (;;) {
    const { rows } = await client.query('SELECT FROM pg_locks WHERE NOT granted')
    if (rows.length >= count) return
  }
}

function ear() {
  let heard: number[] = []
  let tell = () => {}
  return {
    hear: (bucket: number) => {
      heard.push(bucket)
      tell()
    },
    forget: () => {
      heard = []
    },
    next: async (): Promise<number> => {
      while (heard.length === 0) {
        await new Promise<void>((resolve) => {
          tell = resolve
        })
      }
      return heard.shift() ?? Number.NaN
    },
  }
}
