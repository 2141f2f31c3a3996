import type { JobSchedulerJson, Queue } from 'bullmq'
import type { Log } from '../fleet/log.js'
import type { JobView } from '../fleet/lookups.js'
import { type Repeat, repeatOf } from './repeat.js'

/** What a BullMQ job of the door's carries: whose it is, which job of the ledger it pokes, and by which schedule it was made. */
export interface Poke {
  readonly fleet: string
  /** The ledger's id, `service:id`. */
  readonly job: string
  /** The schedule in words that change when it changes. */
  readonly terms: string
}

/** Whose schedulers these are. */
export interface Owner {
  readonly fleet: string
  readonly service: string
}

interface Wanted {
  readonly id: string
  readonly view: JobView
  readonly repeat: Repeat
  readonly terms: string
}

/** A scheduler whose next job should have begun so long ago may have lost it. */
const STUCK_MS = 30_000

/** Pokes while the store is away: tried again every five seconds, for a minute; then the fleet itself is first. */
const TRIES = { attempts: 12, backoff: { type: 'fixed', delay: 5_000 } } as const

/**
 * The id of a job's scheduler, stable for as long as the ledger's is. Earlier versions of BullMQ take an id with four colons for a
 * key of another kind.
 */
export function schedulerId(job: string): string {
  const at = job.indexOf(':')
  return `${job.slice(0, at)}:${job
    .slice(at + 1)
    .replaceAll('%', '%25')
    .replaceAll(':', '%3A')}`
}

/**
 * Makes the schedulers of a queue what the ledger says, by whichever node, any number of times. What is right already is not
 * touched: BullMQ's upsert throws away the job that is waiting, which may be overdue. The ledger's terms are in force, not those of
 * this node's code, so that an old node which starts again brings no old pattern back. Only what this fleet's service has made is
 * removed.
 */
export async function compare(
  queue: Queue<Poke>,
  owner: Owner,
  jobs: readonly JobView[],
  keep: number,
  log: Log,
): Promise<void> {
  const wanted = new Map(jobs.flatMap(wantedOf).map((one) => [one.id, one]))
  const there = new Map((await queue.getJobSchedulers(0, -1, true)).map((one) => [one.key, one]))
  for (const [id, found] of there) {
    if (!isOf(owner, found) || wanted.has(id)) continue
    await queue.removeJobScheduler(id)
    log.info('a scheduler was removed from BullMQ', { queue: queue.name, scheduler: id })
  }
  for (const one of wanted.values()) {
    const found = there.get(one.id)
    if (found !== undefined && !isOf(owner, found)) {
      log.warn('a scheduler of somebody else has the id of a job: the fleet starts it unpoked', { scheduler: one.id })
    } else if (found === undefined || termsOf(found) !== one.terms || (await isStuck(queue, found))) {
      await upsert(queue, owner, one, keep, log)
    }
  }
}

function wantedOf(view: JobView): Wanted[] {
  const repeat = view.attend === 'poke' && !view.retired ? repeatOf(view) : null
  // A moment that has passed has no next one; neither has a job that is paused, which is looked at again when it is not.
  const isOver = view.schedule !== null && 'at' in view.schedule && view.next === null
  if (repeat === null || isOver) return []
  const terms = 'every' in repeat ? `every ${repeat.every} at ${repeat.offset}` : `${repeat.pattern} ${repeat.tz}`
  return [{ id: schedulerId(view.job), view, repeat, terms }]
}

/** One that BullMQ refuses keeps nobody from the others: the fleet starts its job unpoked. */
async function upsert(
  queue: Queue<Poke>,
  { fleet }: Owner,
  { id, view, repeat, terms }: Wanted,
  keep: number,
  log: Log,
): Promise<void> {
  const kept = { removeOnComplete: { count: keep }, removeOnFail: { count: keep } }
  const template = { name: view.name, data: { fleet, job: view.job, terms }, opts: { ...TRIES, ...kept } }
  const about = { queue: queue.name, scheduler: id, terms }
  try {
    await queue.upsertJobScheduler(id, { ...repeat }, template)
    log.info('a scheduler was made in BullMQ', about)
  } catch (error) {
    log.warn('BullMQ refuses a scheduler: the fleet starts its job unpoked', { ...about, error: String(error) })
  }
}

function pokeOf({ template }: JobSchedulerJson): Partial<Poke> {
  const data: unknown = template?.data
  return typeof data === 'object' && data !== null ? data : {}
}

function termsOf(found: JobSchedulerJson): string | undefined {
  return pokeOf(found).terms
}

function isOf({ fleet, service }: Owner, found: JobSchedulerJson): boolean {
  const poke = pokeOf(found)
  return poke.fleet === fleet && poke.job?.startsWith(`${service}:`) === true
}

/**
 * A scheduler makes its next job when a worker takes the one before. Where that one is gone, or has ended without a successor, it
 * would make none any more.
 */
async function isStuck(queue: Queue<Poke>, { key, next }: JobSchedulerJson): Promise<boolean> {
  if (next === undefined || next === null || next > Date.now() - STUCK_MS) return false
  const job = await queue.getJob(`repeat:${key}:${next}`)
  if (job === undefined) return true
  const state = await job.getState()
  return state === 'completed' || state === 'failed' || state === 'unknown'
}
