import { recordUnowned, type UnownedRun } from '../ledger/index.js'
import { isUnavailable } from './link.js'
import type { Parts } from './parts.js'
import { Backoff, pause } from './pause.js'

/** An outage has no end that is known: so many outcomes are kept, and the oldest give way. */
const MOST = 1_000

/** A row that others' changes of its job come before is offered again this often. */
const ROUNDS = 30

/** What unowned handlers did, until the store has it as rows of their own. */
export class UnownedRecords {
  private waiting: { readonly job: string; readonly unowned: UnownedRun }[] = []
  private flushing: Promise<void> | null = null

  constructor(private readonly parts: Parts) {}

  get size(): number {
    return this.waiting.length
  }

  add(job: string, unowned: UnownedRun): void {
    this.waiting.push({ job, unowned })
    if (this.waiting.length <= MOST) return
    const left = this.waiting.shift()
    this.parts.log.error(`more than ${MOST} unowned runs wait to be recorded: the oldest is forgotten`, {
      job: left?.job,
      key: left?.unowned.key,
    })
  }

  /** Records what waits, one after the other; what the store does not take now waits until it is back. */
  flush(): Promise<void> {
    this.flushing ??= this.all().finally(() => {
      this.flushing = null
    })
    return this.flushing
  }

  private async all(): Promise<void> {
    const { log, events } = this.parts
    for (let first = this.waiting[0]; first !== undefined; first = this.waiting[0]) {
      const { job, unowned } = first
      try {
        await this.one(job, unowned)
        events.emit('unowned-recorded', { job, key: unowned.key, id: unowned.id })
      } catch (error) {
        if (isUnavailable(error)) return
        log.error('an unowned run could not be recorded', { job, key: unowned.key, error: String(error) })
      }
      // It may have been pushed out meanwhile.
      if (this.waiting[0] === first) this.waiting.shift()
    }
  }

  private async one(job: string, unowned: UnownedRun): Promise<void> {
    const { link, facts, looker, sessions } = this.parts
    const { fleet, clock, zones, leaseMs } = facts
    const taken = new Set<string>()
    const backoff = new Backoff(clock, 10, 500)
    for (let round = 0; round < ROUNDS; round += 1) {
      const { reply } = await link.call('load', leaseMs, (store) => store.load({ jobs: [job] }))
      const aggregate = reply.jobs.get(job)
      if (aggregate === undefined) throw new Error('its job is not in the store, or cannot be read')
      const context = { fleet, now: reply.now, changeId: clock.id(), taken, ...(zones === undefined ? {} : { zones }) }
      const decision = recordUnowned(aggregate, unowned, context)
      if (decision.outcome === 'refused') throw new Error(decision.message)
      if (decision.outcome === 'unchanged') return
      await looker.introduce()
      const { change } = decision
      const session = sessions.current.ref
      const answer = await link.call('commit', leaseMs / 3, (store) => store.commit(session, reply.now, [change]))
      const [result] = answer.reply.expired ? [] : answer.reply.results
      if (result?.outcome === 'won') return
      if (result?.outcome === 'refused') throw new Error(result.why)
      if (result?.outcome === 'clash') for (const key of result.keys) taken.add(key)
      await pause(clock, backoff.nextMs())
    }
    throw new Error('its job is changed by others all the time')
  }
}
