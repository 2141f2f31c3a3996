import { bullmqDoor } from '../../src/bullmq/index.js'
import { createFleet } from '../../src/index.js'
import { createMemoryStore } from '../../src/store/memory/index.js'

/**
 * A node of its own process whose ledger is always there, and whose BullMQ may be away. At SIGTERM it stops and ends by itself: nobody
 * calls process.exit.
 */
export async function main([url = '']: readonly string[]): Promise<void> {
  const fleet = createFleet({ fleet: 'away', service: 'app', store: createMemoryStore(), logger: false })
  fleet.job('often', { cron: '* * * * * *', timeZone: 'UTC', attend: 'poke' }, async (run) => {
    process.stdout.write(`${JSON.stringify({ key: run.key })}\n`)
    await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
  })
  const door = bullmqDoor(fleet, { connection: { url }, compareEvery: '1s', logger: false })
  await fleet.start()
  void door.start()
  process.once('SIGTERM', async () => {
    await fleet.stop({ grace: 0 })
    await door.close()
    process.stdout.write(`${JSON.stringify({ closed: true })}\n`)
  })
}
