import { createMysqlStore } from '../../src/store/mysql/index.js'
import { migrate, STEPS } from '../../src/store/mysql/schema.js'
import { Server } from '../../src/store/mysql/server.js'
import { change, creation, fresh, queued } from '../../src/testing/store/builders.js'
import { TestSession } from '../postgres/session.js'
import { poolOf } from './place.js'

/** What a process of the tests does with the ledger; it writes lines of JSON, the first one `"ready"`. */
export type ChildCommand =
  /** Waits for a line, opens the ledger, and tells its incarnation. */
  | 'open'
  /** The same with a later version of fleetcron, whose schema has one more step. */
  | 'upgrade'
  /** Commits one change after the other and tells each that was won, until it is killed. */
  | 'commit'

const JOB = 'billing:a'

export async function main([command, url = '', prefix = '']: readonly string[]): Promise<void> {
  const pool = poolOf(url, 3)
  const store = createMysqlStore({ pool, fleet: 'f', prefix, closed: () => pool.end() })
  switch (command as ChildCommand) {
    case 'open': {
      await toldToGo()
      const { incarnation } = await store.open()
      say(incarnation)
      return store.close()
    }
    case 'upgrade': {
      const server = new Server({ pool, prefix, place: 'here', statementMs: 60_000 })
      await toldToGo()
      const later = ['ALTER TABLE fleetcron_job ADD COLUMN note VARBINARY(16) NULL']
      await migrate(server, { autoMigrate: true, steps: [...STEPS, later] })
      say('upgraded')
      return pool.end()
    }
    case 'commit': {
      await store.open()
      const session = await TestSession.begin(store, `s${process.pid}`)
      say('ready')
      for (let i = 0; ; i++) {
        const read = (await store.load({ jobs: [JOB] })).jobs.get(JOB)
        const id = `${process.pid}-${i}`
        const runs = [fresh(queued(JOB, id, { position: i }))]
        const [outcome] = await session.outcomes(read ? change(id, read, { runs }) : creation(id, JOB, { runs }))
        if (outcome === 'won') say(id)
      }
    }
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
