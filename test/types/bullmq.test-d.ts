import { createFleet, type Fleet, type Run } from 'fleetcron'
import { type BullmqDoor, type BullmqOutcome, bullmqDoor } from 'fleetcron/bullmq'
import { FleetModule } from 'fleetcron/nest'

const fleet: Fleet = createFleet({ fleet: 'billing', store: 'memory:', defaults: { attend: 'poke', pokeGrace: '30s' } })
fleet.job('a', { cron: '0 0 * * *', attend: 'poke' }, (run: Run) => run.key)
// @ts-expect-error who says that it is time is one of two words
fleet.job('b', { cron: '0 0 * * *', attend: 'bullmq' }, () => 1)

const connection = { host: '127.0.0.1', port: 6379 }
const door: BullmqDoor = bullmqDoor(fleet, { connection, prefix: 'app', queue: ({ name }) => name })
bullmqDoor(fleet, { connection: { url: 'redis://127.0.0.1:6379' }, lockDuration: '30s', logger: false })
// @ts-expect-error BullMQ has to be reached
bullmqDoor(fleet, { prefix: 'app' })
// @ts-expect-error the queue is a name, or a function that gives one
bullmqDoor(fleet, { connection, queue: 7 })

export const result = (told: BullmqOutcome): string | null => told.key
export const poked = async (): Promise<string | undefined> => (await fleet.poke('a', { early: '10s' }))[0]?.state
export const closed: Promise<void> = door.close()

FleetModule.forRoot({ fleet: 'billing', store: 'memory:', pokedBy: (one) => bullmqDoor(one, { connection }) })
// @ts-expect-error local mode has no fleet to poke
FleetModule.forRoot({ pokedBy: (one: Fleet) => bullmqDoor(one, { connection }) })
// As docs/bullmq.md has it.
FleetModule.forRoot({
  fleet: 'billing',
  store: process.env.DATABASE_URL,
  defaults: { attend: 'poke' },
  pokedBy: (one) => bullmqDoor(one, { connection: { url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' } }),
})
