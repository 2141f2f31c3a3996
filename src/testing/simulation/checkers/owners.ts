import type { HandlerSeen, ProcessSeen } from '../observations.js'
import type { Checker, CheckerContext } from './checker.js'

type Seen<Kind extends HandlerSeen['kind']> = Extract<HandlerSeen, { kind: Kind }> & { readonly at: number }

/** Timers fire up to a millisecond early, and a reading is a whole millisecond. */
const TICK_MS = 3

/** A store whose clock or contents were set gives to others what is still believed in: that is fenced, not prevented. */
const QUIET_MS = 130_000

/** The pulse that notices a suspend by the clocks. */
const SUSPEND_TICK_MS = 1_500

/** A call that went wrong so shortly before a stop may leave a run to its session's end. */
const TROUBLE_MS = 30_000

/**
 * Who owns what (S9, L1, L4): a handler is started only while the ledger says that its run is this attempt's; a node
 * works on no more runs than it has room for; a signal fires for a reason that the ledger or the clock knows; and a clean
 * stop lets handlers end for its grace, and leaves no run behind.
 */
export function checkOwners({ truth, broken }: CheckerContext): Checker {
  /** Handlers that work, by number. */
  const working = new Map<number, { readonly process: string; readonly startedAt: number }>()
  /** Sessions that their nodes do not believe in any more. */
  const lost = new Set<string>()
  /** Until when a stopping process leaves its handlers alone. */
  const graces = new Map<string, number>()

  const disturbed = () => Math.max(truth.steppedAt, truth.restoredAt) > truth.now - QUIET_MS

  const isOwner = (job: string, key: string, token: number): boolean => {
    const run = truth.ledger.run(job, key)
    return run?.state === 'running' && run.token === token
  }

  const started = ({ process, job, key, token, handler, at }: Seen<'handler-started'>): void => {
    const one = truth.process(process)
    const wasAsleep = one !== undefined && one.suspendedAt > 0 && at < one.resumedAt + SUSPEND_TICK_MS
    if (!isOwner(job, key, token) && !disturbed() && !wasAsleep) {
      broken('S9', `${process} started ${job}/${key}#${token}, whose run is ${truth.ledger.run(job, key)?.state}`)
    }
    working.set(handler, { process, startedAt: at })
    const most = truth.world.plan.nodes.find(({ name }) => process.startsWith(`${name}.`))?.maxRuns ?? 0
    const count = [...working.values()].filter((other) => other.process === process).length
    if (count > most) broken('L2', `${process} works on ${count} runs, it has room for ${most}`)
  }

  const aborted = ({ process, job, key, token, handler, why, at }: Seen<'handler-aborted'>): void => {
    const name = `${job}/${key}#${token}`
    const startedAt = working.get(handler)?.startedAt
    working.delete(handler)
    if (why === 'stop' && at < (graces.get(process) ?? Number.POSITIVE_INFINITY) - TICK_MS) {
      broken('L4', `${process} told ${name} to end before the grace of its stop was over`)
    }
    const timeoutMs = truth.grant(job, key, token)?.definition?.timeoutMs
    if (why === 'timeout' && startedAt !== undefined && timeoutMs != null && at - startedAt < timeoutMs - TICK_MS) {
      broken('L4', `${name} timed out after ${at - startedAt} ms, its timeout is ${timeoutMs}`)
    }
    if (disturbed() || !isOwner(job, key, token)) return
    const stop = truth.ledger.run(job, key)?.stop ?? null
    if (why === 'lost') broken('S9', `${process} told ${name} that it is lost, and the ledger has it as running`)
    if ((why === 'cancel' || why === 'replace') && stop?.kind !== why) {
      broken('S9', `${process} told ${name} to end (${why}), and the ledger asks for ${stop?.kind ?? 'nothing'}`)
    }
  }

  const ended = ({ process, what }: ProcessSeen): void => {
    for (const [number, one] of working) if (one.process === process) working.delete(number)
    const one = truth.process(process)
    if (what !== 'stopped' || one === undefined || disturbed()) return
    if (one.failedAt > (one.stoppingAt ?? truth.now) - TROUBLE_MS) return
    for (const { header } of truth.ledger.jobs()) {
      for (const run of truth.ledger.live(header.job)) {
        if (run.state !== 'running' || run.session === null || lost.has(run.session)) continue
        if (truth.sessions.get(run.session)?.process !== process) continue
        broken('L1', `${process} has stopped and left ${run.job}/${run.key}#${run.token} as running`)
      }
    }
  }

  return {
    see(seen) {
      switch (seen.kind) {
        case 'handler-started':
          started(seen)
          break
        case 'handler-aborted':
          aborted(seen)
          break
        case 'handler-ended':
          working.delete(seen.handler)
          break
        case 'session-lost':
          lost.add(seen.session)
          break
        case 'process':
          if (seen.what === 'stopping') graces.set(seen.process, seen.at + (seen.graceMs ?? 0))
          if (seen.what === 'killed' || seen.what === 'stopped') ended(seen)
      }
    },
  }
}
