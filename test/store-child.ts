import Database from 'better-sqlite3'
import { Connection } from '../src/store/sqlite/connection.js'
import { createSqliteStore } from '../src/store/sqlite/index.js'
import { migrate, STEPS } from '../src/store/sqlite/schema.js'
import { change, creation, fresh, hello, queued } from '../src/testing/store/builders.js'

/** What a process of the tests does with the ledger; it writes lines of JSON, the first one `"ready"`. */
export type ChildCommand =
  /** Waits for a line, opens the ledger, and tells its incarnation. */
  | 'open'
  /** The same with a later version of fleetcron, whose schema has one more step. */
  | 'upgrade'
  /** Waits for a line, then tries to make the runs `k0` … `k99` of one job, and tells how many it made. */
  | 'claim'
  /** Commits one change after the other and tells each that was won, until it is killed. */
  | 'commit'
  /** Takes the file's lock and stops itself as by SIGSTOP; goes on when it is told to, and gives the lock back. */
  | 'hold'

const JOB = 'billing:a'

/** @public Called by the script that `bundleMain` makes. */
export async function main([command, path = '']: readonly string[]): Promise<void> {
  const store = createSqliteStore({ path, fleet: 'f', driver: (file) => new Database(file), busyMs: 20_000 })
  switch (command as ChildCommand) {
    case 'open': {
      await toldToGo()
      const { incarnation } = await store.open()
      say(incarnation)
      return store.close()
    }
    case 'upgrade': {
      const driver = (file: string) => new Database(file)
      const connection = new Connection({ path, driver, now: Date.now, busyMs: 20_000 })
      await toldToGo()
      await connection.open()
      say(await migrate(connection, { steps: [...STEPS, 'ALTER TABLE job ADD COLUMN note TEXT'] }))
      return connection.close()
    }
    case 'claim': {
      await store.open()
      const session = await begin(store)
      await toldToGo()
      let won = 0
      for (let i = 0; i < 100; i++) won += await claim(store, session, `k${i}`)
      say(won)
      return store.close()
    }
    case 'commit': {
      await store.open()
      const session = await begin(store)
      say('ready')
      for (let i = 0; ; i++) {
        const { now, jobs } = await store.load({ jobs: [JOB] })
        const read = jobs.get(JOB)
        const id = `${process.pid}-${i}`
        const run = fresh(queued(JOB, id, { position: i }))
        await store.commit(session, now, [
          read ? change(id, read, { runs: [run] }) : creation(id, JOB, { runs: [run] }),
        ])
        say(id)
      }
    }
    case 'hold': {
      const database = new Database(path)
      database.exec('BEGIN IMMEDIATE')
      say('ready')
      process.kill(process.pid, 'SIGSTOP')
      database.exec('COMMIT')
      say('released')
    }
  }
}

type Store = ReturnType<typeof createSqliteStore>

async function begin(store: Store) {
  const session = { id: `s${process.pid}`, node: `n${process.pid}`, leaseMs: 60_000 }
  await store.attend(session, { hello: hello(), services: [], buckets: new Set(), graceMs: 0, limit: 1 })
  return session
}

/** Tries until the run exists; 1 where it was made here. */
async function claim(store: Store, session: Awaited<ReturnType<typeof begin>>, key: string): Promise<number> {
  for (;;) {
    const { now, jobs } = await store.load({ jobs: [JOB] })
    const read = jobs.get(JOB)
    if (!read) throw new Error('the job was made before')
    const committed = await store.commit(session, now, [
      change(`${session.id}-${key}-${read.version}`, read, { runs: [fresh(queued(JOB, key))] }),
    ])
    const outcome = committed.expired ? 'expired' : committed.results[0]?.outcome
    if (outcome === 'won') return 1
    if (outcome === 'clash') return 0
    if (outcome !== 'stale') throw new Error(`a claim came out as ${outcome}`)
  }
}

function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

/** Says that it is ready and waits for a line. */
function toldToGo(): Promise<void> {
  say('ready')
  return new Promise((resolve) => {
    process.stdin.once('data', () => {
      process.stdin.destroy()
      resolve()
    })
  })
}
