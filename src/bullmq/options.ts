import type { ConnectionOptions } from 'bullmq'
import type { Logger } from '../fleet/log.js'
import type { JobView } from '../fleet/lookups.js'
import { type Duration, durationMs, optionInvalid, refuseUnknown, textOf, wholeNumber } from '../fleet/option-values.js'

export interface BullmqDoorOptions {
  /** BullMQ's own: `{ host, port }`, `{ url }`, or a client. It need not be the Redis of a ledger. */
  readonly connection: ConnectionOptions
  /** Of BullMQ's keys. Default `'bull'`. */
  readonly prefix?: string
  /**
   * The queue that holds the fleet's schedulers, or, for groups of jobs, which queue holds a job's. It is the door's own: in a
   * queue that holds one job, its `concurrency` is the queue's global concurrency. Default: the fleet's name.
   */
  readonly queue?: string | ((job: JobView) => string)
  /** Pokes that a node has in hand at a time, each until its run has ended. Default 100. */
  readonly concurrency?: number
  /** BullMQ's jobs that have ended, kept for people, of each kind. The ledger keeps the runs. Default 1,000. */
  readonly keep?: number
  /**
   * So long BullMQ takes a worker that is silent to be alive; then another has its job, and finds the ledger's answer. Default
   * `'30s'`.
   */
  readonly lockDuration?: Duration
  /** How often the schedulers are held against the ledger: one that was lost is made again. Default `'60s'`. */
  readonly compareEvery?: Duration
  /** Default: stderr; `false`: nowhere. */
  readonly logger?: Logger | false
}

export interface ResolvedDoor {
  readonly connection: ConnectionOptions
  readonly prefix: string
  readonly queueOf: (job: JobView) => string
  /** Queues that are looked at also where no job belongs there any more. */
  readonly queues: readonly string[]
  readonly concurrency: number
  readonly keep: number
  readonly lockMs: number
  readonly compareMs: number
  readonly logger: Logger | null
}

const DOOR_KEYS = ['connection', 'prefix', 'queue', 'concurrency', 'keep', 'lockDuration', 'compareEvery', 'logger']

const FOREIGN_DOOR_KEYS = { redis: 'connection', queueName: 'queue', removeOnComplete: 'keep', removeOnFail: 'keep' }

export const DOOR_DEFAULTS = {
  prefix: 'bull',
  concurrency: 100,
  keep: 1_000,
  lockMs: 30_000,
  compareMs: 60_000,
} as const

/** @throws FleetcronError `OPTION_INVALID` */
export function resolveDoor(fleet: string, input: BullmqDoorOptions, stderr: Logger): ResolvedDoor {
  refuseUnknown('bullmqDoor: options', input, DOOR_KEYS, FOREIGN_DOOR_KEYS)
  const what = (option: string) => `bullmqDoor: ${option}`
  const { connection, prefix, queue = fleet, concurrency, keep, lockDuration, compareEvery, logger } = input
  if (typeof connection !== 'object' || connection === null) {
    throw optionInvalid(what('connection'), "write { host, port } or { url: 'redis://…' }, as for a queue of BullMQ's.")
  }
  return {
    connection,
    prefix: prefix === undefined ? DOOR_DEFAULTS.prefix : textOf(what('prefix'), prefix, 100),
    queues: typeof queue === 'function' ? [] : [queueName(queue)],
    queueOf: typeof queue === 'function' ? (job) => queueName(queue(job)) : () => queueName(queue),
    concurrency:
      concurrency === undefined ? DOOR_DEFAULTS.concurrency : wholeNumber(what('concurrency'), concurrency, 1, 10_000),
    keep: keep === undefined ? DOOR_DEFAULTS.keep : wholeNumber(what('keep'), keep, 0),
    lockMs: lockDuration === undefined ? DOOR_DEFAULTS.lockMs : durationMs(what('lockDuration'), lockDuration, 1_000),
    compareMs:
      compareEvery === undefined ? DOOR_DEFAULTS.compareMs : durationMs(what('compareEvery'), compareEvery, 500),
    logger: logger === false ? null : (logger ?? stderr),
  }
}

/** BullMQ's keys are parted by colons. */
function queueName(name: string): string {
  return textOf('bullmqDoor: queue', name, 200).replaceAll(':', '-')
}
