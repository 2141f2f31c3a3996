import { createFleet, type Fleet, type JobOptions } from '../src/index.js'
import { countStatements } from './counting.js'
import { wallMs } from './figures.js'
import type { Answer, FleetPlan, JobPlan, Order, Seen, Start } from './plan.js'

/** A process of the bench with one or more nodes; it does what its parent orders and tells what it saw. */

const fleets = new Map<string, Fleet>()
const starts: Start[] = []
const settled: [atMs: number, count: number][] = []
/** More starts than a measure looks at are not kept: what is measured must not be the keeping. */
const STARTS_KEPT = 20_000

const statements = await countStatements()

process.on('message', (message: { readonly number: number; readonly order: Order }) => {
  const { number, order } = message
  carryOut(order).then(
    (answer) => say({ number, ...answer }),
    (error) => say({ number, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})
// A stop gives handlers no time to end: how soon another node goes on is what is measured.
process.on('SIGTERM', () => {
  Promise.all([...fleets.values()].map((fleet) => fleet.stop({ grace: '1ms' }))).then(() => process.exit(0))
})
process.on('disconnect', () => process.exit(0))
say({ number: 0 })

function say(answer: Answer): void {
  process.send?.(answer)
}

async function carryOut(order: Order): Promise<Omit<Answer, 'number'>> {
  switch (order.do) {
    case 'start':
      return { started: await start(order.plan) }
    case 'trigger':
      await fleetOf(order.fleet).trigger(order.job)
      return {}
    case 'queue':
      await queue(fleetOf(order.fleet), order.job, order.count)
      return {}
    case 'take':
      return { seen: take() }
    case 'stop':
      await Promise.all([...fleets.values()].map((fleet) => fleet.stop({ grace: '5s' })))
      return {}
  }
}

async function start(plan: FleetPlan): Promise<NonNullable<Answer['started']>> {
  const before = performance.now()
  const { url, fleet: name, maxRuns, attends = true } = plan
  const fleet = createFleet({
    fleet: name,
    service: 'bench',
    store: url,
    attends,
    timeZone: 'UTC',
    logger: false,
    ...(maxRuns === undefined ? {} : { maxRuns }),
  })
  for (const jobs of plan.jobs) declare(fleet, name, jobs)
  fleet.on('run-settled', note)
  fleets.set(name, fleet)
  await fleet.start()
  return { ms: performance.now() - before, rssMb: process.memoryUsage().rss / 2 ** 20 }
}

function declare(fleet: Fleet, name: string, jobs: JobPlan): void {
  const { prefix, count, cron, concurrency, isCaughtUp, isLong } = jobs
  for (let number = 0; number < count; number += 1) {
    const options: JobOptions = {
      ...(cron === null ? {} : { cron: cron === 'daily' ? daily(number) : cron }),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(isCaughtUp ? { catchUp: { policy: 'each', within: '1h', most: 1_000 } } : {}),
    }
    fleet.job(`${prefix}${number}`, options, ({ job, attempt, scheduledAt, signal }) => {
      if (starts.length < STARTS_KEPT) {
        starts.push({ fleet: name, job, attempt, dueMs: scheduledAt.getTime(), atMs: wallMs() })
      }
      if (isLong) return aborted(signal)
    })
  }
}

/** Late tomorrow and later, so that none of them is due while it is looked at. */
function daily(number: number): string {
  const far = new Date(Date.now() + 12 * 3_600_000).getUTCHours()
  return `${number % 60} ${(far + (Math.floor(number / 60) % 8)) % 24} * * *`
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    // Something has to keep the process alive for as long as its handler works.
    const alive = setInterval(() => {}, 60_000)
    signal.addEventListener('abort', () => {
      clearInterval(alive)
      reject(signal.reason)
    })
  })
}

/** Backfills ask for at most 1,000 occurrences at once; each request makes runs of its own. */
async function queue(fleet: Fleet, job: string, count: number): Promise<void> {
  const minute = 60_000
  const end = Math.floor(Date.now() / minute) * minute - minute
  for (let left = count; left > 0; left -= 1_000) {
    const many = Math.min(left, 1_000)
    await fleet.backfill(job, { from: new Date(end - (many - 1) * minute), to: new Date(end) })
  }
}

function note(): void {
  const atMs = Math.floor(wallMs())
  const last = settled.at(-1)
  if (last?.[0] === atMs) last[1] += 1
  else settled.push([atMs, 1])
}

function take(): Seen {
  return { starts: starts.splice(0), settled: settled.splice(0), statements: statements() }
}

function fleetOf(name: string): Fleet {
  const fleet = fleets.get(name)
  if (fleet === undefined) throw new Error(`This process has no node of the fleet ${name}.`)
  return fleet
}
