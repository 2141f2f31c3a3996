import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import { FleetcronError } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'
import type { Run } from '../ledger/types.js'
import { Lines } from './lines.js'
import { type BullmqOutcome, outcomeOf } from './outcome.js'
import type { Poke } from './schedulers.js'

/** What this node had in hand when it ended goes to another after so long. */
const HAND_OVER_MS = 500

/** What a poke cannot mend by coming again. */
const HOPELESS = new Set(['JOB_UNKNOWN', 'JOB_UNREADABLE', 'OPTION_INVALID'])

/**
 * The work of a BullMQ job is to poke, and to tell what became of the run, wherever it runs. So it may be given to any worker, twice, or
 * again after a stall: it finds the ledger's answer. How often a run is tried is the ledger's business, so a failed run fails the BullMQ
 * job for good.
 *
 * @param ending fires when this node stops waiting: the job then goes to another one
 * @throws UnrecoverableError where the run has failed; DelayedError where the job was handed over
 */
export async function takePoke(
  fleet: Fleet,
  job: Job<Poke>,
  token: string | undefined,
  ending: AbortSignal,
): Promise<BullmqOutcome> {
  const { job: id, fleet: whose } = job.data
  // Another fleet's ledger has it; that fleet starts it by itself.
  if (whose !== undefined && whose !== fleet.name) {
    const what = `This poke is for fleet '${whose}', and fleet '${fleet.name}' took it`
    throw new UnrecoverableError(`${what}: give each fleet a queue of its own.`)
  }
  const lines = new Lines(fleet, id)
  try {
    const run = await untilAborted(ended(fleet, job, lines), ending)
    if (run?.state !== 'failed') return outcomeOf(id, run)
    throw new UnrecoverableError(`${id} ${run.key}: ${run.error?.message ?? run.reason ?? 'failed'}`)
  } catch (error) {
    if (error instanceof UnrecoverableError) throw error
    // A node that stops closes its store first, and says so last.
    if (ending.aborted || fleet.health()?.state !== 'running') {
      await job.moveToDelayed(Date.now() + HAND_OVER_MS, token)
      throw new DelayedError()
    }
    throw error instanceof FleetcronError && HOPELESS.has(error.code) ? new UnrecoverableError(error.message) : error
  } finally {
    lines.end()
  }
}

/** Pokes, and gives the run of the latest occurrence when it has ended; undefined: nothing was due. */
async function ended(fleet: Fleet, job: Job<Poke>, lines: Lines): Promise<Run | undefined> {
  const { job: id } = job.data
  const at = dueAt(job)
  const [run] = await fleet.poke(id, at === null ? {} : { at })
  if (run === undefined) return undefined
  // BullMQ's Redis may be away: what people see of the run is not worth failing it.
  lines.of(run.key, (line) => void job.log(line).catch(() => undefined))
  if (run.state !== 'queued' && run.state !== 'running') return run
  void job.updateProgress({ ...outcomeOf(id, run) }).catch(() => undefined)
  return fleet.finished(run)
}

interface Repeated {
  readonly every?: number
  readonly offset?: number | null
}

/**
 * Which occurrence a scheduler's job stands for: BullMQ ends its id with the instant, earlier versions with a period's beginning. A
 * job that somebody added stands for none.
 */
function dueAt({ id = '', repeatJobKey, opts }: Job<Poke>): Date | null {
  const millis = repeatJobKey === undefined ? Number.NaN : Number(id.slice(id.lastIndexOf(':') + 1))
  const { every, offset } = (opts as { readonly repeat?: Repeated }).repeat ?? {}
  const isInstant = every === undefined || (millis - (offset ?? 0)) % every === 0
  return Number.isSafeInteger(millis) && isInstant ? new Date(millis) : null
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
