import pg from 'pg'
import { createPostgresStore } from '../../src/store/postgres/index.js'
import { quotedSchema } from '../../src/store/postgres/names.js'
import { migrate, STEPS } from '../../src/store/postgres/schema.js'
import { Server } from '../../src/store/postgres/server.js'
import { change, creation, fresh, queued } from '../../src/testing/store/builders.js'
import { TestSession } from './session.js'

/** What a process of the tests does with the ledger; it writes lines of JSON, the first one `"ready"`. */
export type ChildCommand =
  /** Waits for a line, opens the ledger, and tells its incarnation. */
  | 'open'
  /** The same with a later version of fleetcron, whose schema has one more step that the one before cannot work with. */
  | 'upgrade'
  /** Commits one change after the other and tells each that was won, until it is killed. */
  | 'commit'

const JOB = 'billing:a'

export async function main([command, url = '', schema = '']: readonly string[]): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  const store = createPostgresStore({ pool, fleet: 'f', schema, closed: () => pool.end() })
  switch (command as ChildCommand) {
    case 'open': {
      await toldToGo()
      const { incarnation } = await store.open()
      say(incarnation)
      return store.close()
    }
    case 'upgrade': {
      const server = new Server({ pool, schema: quotedSchema(schema), place: 'here', statementMs: 5_000 })
      await toldToGo()
      await migrate(server, {
        schema,
        autoMigrate: true,
        steps: [...STEPS, 'ALTER TABLE fleetcron.job ADD COLUMN note text;'],
        compatible: STEPS.length + 1,
      })
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
