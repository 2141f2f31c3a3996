import type { Run } from '../../../ledger/types.js'
import type { Checker, CheckerContext } from './checker.js'

/**
 * What a start may take beyond its round trips: the second in line looks after its grace; a beat, every four seconds at the
 * latest, finds what a node that was killed meanwhile would have looked after.
 */
const START_MS = 4_500

/** Between two beats of a node that holds nothing. */
const BEAT_MS = 10_000

/** Abandoned handlers, retries and the operator's last cancellations have ended by then. */
const DRAINED = { brief: 17_000, long: 25_000 } as const

/**
 * L3, S9 at the end, after the calm: nothing due is left alone, nothing waits or runs for ever, no run is forgotten and
 * no handler goes on that nobody owns.
 */
export function checkLiveness({ truth, broken }: CheckerContext): Checker {
  const handlers = new Set<string>()
  /** When a place of the job was last taken or given back, by the store's clock. */
  const moved = new Map<string, number>()
  const drainedMs = DRAINED[truth.world.plan.pace]

  const drained = (): void => {
    const { ledger, world } = truth
    const now = world.storeNow
    // A node whose first request was lost in the outage still waits for its answer.
    const begun = truth.begun()
    const alive = [...world.living.values()].filter((one) => !one.stopping && begun.has(one.process.name))
    if (alive.length === 0) return
    for (const { header } of ledger.jobs()) {
      const carried = alive.some((one) =>
        world.plan.jobs.some((job) => header.job.endsWith(`:${job.id}`) && job.releases[one.release]),
      )
      // A job that not every node carries may belong to one that does not: then it is found at a beat.
      const everyone = alive.every((one) =>
        world.plan.jobs.some((job) => header.job.endsWith(`:${job.id}`) && job.releases[one.release]),
      )
      const patience = START_MS + (everyone ? 0 : BEAT_MS)
      if (header.wakeAt !== null && header.wakeAt < now - patience && carried) {
        broken('L3', `${header.job} was due at ${header.wakeAt} and nobody looks, ${now - header.wakeAt} ms later`)
      }
      for (const run of ledger.live(header.job)) if (carried) stays(run, now)
    }
    for (const name of handlers) unowned(name)
  }

  const stays = (run: Run, now: number): void => {
    const name = `${run.job}/${run.key}`
    const pause = truth.ledger.job(run.job)?.header.pause
    if (run.state === 'running') {
      const since = run.attempts.at(-1)?.startedAt ?? 0
      if (!handlers.has(`${name}#${run.token}`) && now - since > drainedMs) {
        broken('S9', `${name}#${run.token} runs for ${now - since} ms in the ledger, and no handler of it`)
      }
      if (now - since > drainedMs * 2) broken('L3', `${name} runs for ${now - since} ms`)
      return
    }
    // Who waits behind others waits for as long as they take, if they go on.
    const waited = now - Math.max(run.createdAt, run.readyAt, moved.get(run.job) ?? 0)
    if (waited > drainedMs && (pause === null || run.place)) broken('L3', `${name} waits for ${waited} ms`)
  }

  /** A handler that goes on unaborted although its run is another's, or over. */
  const unowned = (name: string): void => {
    const [path = '', token = ''] = name.split('#')
    const [job = '', ...key] = path.split('/')
    const grant = truth.grant(job, key.join('/'), Number(token))
    const run = truth.ledger.run(job, key.join('/'))
    if (!grant || truth.now - grant.at < drainedMs) return
    if (run?.state === 'running' && run.token === Number(token)) return
    if (!aborted.has(name)) broken('S9', `${name} goes on in ${grant.process}, its run is ${run?.state}`)
  }

  const aborted = new Set<string>()

  return {
    see(seen) {
      if (seen.kind === 'commit' || seen.kind === 'settle') {
        for (const { job, before, after } of seen.rows) if (before?.place || after?.place) moved.set(job, seen.storeNow)
      }
      if (seen.kind === 'handler-started') handlers.add(`${seen.job}/${seen.key}#${seen.token}`)
      if (seen.kind === 'handler-aborted') aborted.add(`${seen.job}/${seen.key}#${seen.token}`)
      if (seen.kind === 'handler-ended') handlers.delete(`${seen.job}/${seen.key}#${seen.token}`)
      if (seen.kind === 'process' && (seen.what === 'killed' || seen.what === 'stopped')) {
        for (const name of handlers) {
          const [path = '', token = ''] = name.split('#')
          const [job = '', ...key] = path.split('/')
          if (truth.grant(job, key.join('/'), Number(token))?.process === seen.process) handlers.delete(name)
        }
      }
    },
    end: drained,
  }
}
