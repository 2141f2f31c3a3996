import { bullmqDoor } from '../../src/bullmq/index.js'
import { createFleet } from '../../src/index.js'

/** What a node of a test is told when it starts. */
export interface ChildPlan {
  readonly url: string
  readonly prefix: string
  readonly fleet: string
  readonly label: string
  /** The handler goes on until its signal fires: for occurrences that came due after the schedulers were made, so that each has its poke. */
  readonly holds: boolean
}

/** What it says when its handler is called for such an occurrence. */
export interface Said {
  readonly key: string
  readonly attempt: number
}

/** A node of its own process that runs one job, which BullMQ pokes. */
export async function main([text = '']: readonly string[]): Promise<void> {
  const { url, prefix, fleet: name, label, holds } = JSON.parse(text) as ChildPlan
  const say = (said: Said) => void process.stdout.write(`${JSON.stringify(said)}\n`)
  const fleet = createFleet({ fleet: name, service: 'app', store: url, nodeLabel: label, lease: '3s', logger: false })
  let from = holds ? Number.POSITIVE_INFINITY : 0
  fleet.job('often', { cron: '*/2 * * * * *', timeZone: 'UTC', attend: 'poke', overlap: 'wait' }, async (run) => {
    if (Date.parse(run.key) < from) return label
    say({ key: run.key, attempt: run.attempt })
    if (holds) await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
    return label
  })
  const connection = { url }
  const door = bullmqDoor(fleet, { connection, prefix, lockDuration: '1s', compareEvery: '1s', logger: false })
  await fleet.start()
  await door.start()
  if (holds) from = Date.now()
  process.once('SIGTERM', () => {
    void fleet.stop({ grace: 0 }).then(() => door.close())
  })
}
