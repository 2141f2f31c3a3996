import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { createFleet } from '../../src/fleet/fleet.js'
import { createHttpHandler, toNodeHandler } from '../../src/http/index.js'
import { createSqliteStore } from '../../src/store/sqlite/index.js'

/**
 * A node that dies as soon as the ledger has what a request asked for: nobody gets its answer.
 * @public Called by the script that `bundleMain` makes.
 */
export async function main([path = '', secret = '']: readonly string[]): Promise<void> {
  const store = createSqliteStore({ path, fleet: 'http', driver: (file) => new Database(file) })
  const fleet = createFleet({ fleet: 'http', service: 'app', store, logger: false, attends: false })
  await fleet.start()
  const trigger = fleet.trigger.bind(fleet)
  fleet.trigger = async (job, request) => {
    const run = await trigger(job, request)
    process.kill(process.pid, 'SIGKILL')
    return run
  }
  const server = createServer(toNodeHandler(createHttpHandler(fleet, { secrets: [secret] })))
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify((server.address() as AddressInfo).port)}\n`)
  })
}
