import { FleetcronError } from '../errors.js'
import { keep } from '../ledger/index.js'
import type { Aggregate, Definition } from '../ledger/types.js'
import type { Loaded } from '../store/port.js'
import { type Commands, throwIfUnreadable } from './commands.js'
import { definitionHash, withStoredZone } from './definition-hash.js'
import { STORED } from './handlers.js'
import type { Lookups } from './lookups.js'
import type { Parts } from './parts.js'
import { Backoff, pause } from './pause.js'
import type { ScheduleAnswer, ScheduleView } from './schedules.js'

/** A schedule as somebody wants it kept. */
export interface Wish {
  readonly name: string
  readonly definition: Definition & { readonly handler: string }
  readonly zoneDefaulted: boolean
  readonly verb: 'ensure' | 'upsert'
  readonly isBooting: boolean
  readonly quota: number | null
}

const PAGE = 500
const ROUNDS = 30

/** A count of the store's schedules is used so long, together with what this node adds: counting reads them all. */
const COUNTED_MS = 10_000

/** Schedules kept in the store: ordinary jobs of the ledger, whose definition names a handler and carries its data. */
export class ScheduleCommands {
  private readonly counts = new Map<string, { count: number; readonly at: number }>()

  constructor(
    private readonly parts: Parts,
    private readonly commands: Commands,
    private readonly lookups: Lookups,
  ) {}

  /** @throws `QUOTA_REACHED`, `STORE_UNAVAILABLE`, `NOT_STARTED` */
  async put(wish: Wish): Promise<ScheduleAnswer> {
    const { clock } = this.parts.facts
    const job = this.idOf(wish.name)
    const taken = new Set<string>()
    const backoff = new Backoff(clock, 10, 500)
    let doubt: { readonly error: unknown; readonly answer: ScheduleAnswer } | null = null
    for (let round = 0; round < ROUNDS; round += 1) {
      const reply = await this.load(job)
      const aggregate = reply.jobs.get(job) ?? null
      const decision = this.decide(job, wish, aggregate, reply, taken)
      if (decision.outcome === 'refused') return { outcome: 'refused', message: `${decision.message}.` }
      // What stands there now may be what this very call committed in doubt.
      if (decision.outcome === 'unchanged') return doubt?.answer ?? UNCHANGED
      const isNew = aggregate === null || aggregate.header.retired
      if (isNew || aggregate.definition.handler !== wish.definition.handler) await this.throwIfFull(wish)
      const answer: ScheduleAnswer = { outcome: isNew ? 'created' : 'changed', message: null }
      try {
        if (await this.commands.apply(reply.now, decision.change, taken)) {
          this.added(wish.definition.handler)
          return answer
        }
      } catch (error) {
        if ((error as { code?: unknown } | null)?.code !== 'STORE_UNAVAILABLE') throw error
        doubt = { error, answer }
      }
      await pause(clock, backoff.nextMs())
    }
    const message = `Schedule '${wish.name}' is changed by others all the time: ask again.`
    throw doubt?.error ?? new FleetcronError('STORE_UNAVAILABLE', message)
  }

  /** Null: there is none, or it was removed. */
  async get(name: string): Promise<ScheduleView | null> {
    const job = this.idOf(name)
    const aggregate = (await this.load(job)).jobs.get(job)
    return aggregate === undefined ? null : this.view(aggregate)
  }

  /** One page by name. */
  async list(query: { readonly handler?: string; readonly after?: string; readonly limit: number }) {
    const found: ScheduleView[] = []
    for await (const aggregate of this.all(query.after)) {
      const view = this.view(aggregate)
      if (view === null || (query.handler !== undefined && view.handler !== query.handler)) continue
      found.push(view)
      if (found.length === query.limit) break
    }
    return found
  }

  /** Forgets what was counted: something was removed. */
  removed(): void {
    this.counts.clear()
  }

  idOf(name: string): string {
    return `${this.parts.facts.service}:${STORED}${name}`
  }

  private decide(job: string, wish: Wish, aggregate: Aggregate | null, loaded: Loaded, taken: ReadonlySet<string>) {
    const { facts } = this.parts
    const { name, verb, isBooting, zoneDefaulted } = wish
    const content = withStoredZone(wish.definition, zoneDefaulted, aggregate?.definition)
    const input = {
      job,
      service: facts.service,
      name,
      hash: definitionHash(content),
      content,
      release: facts.release,
      known: loaded.definitions.get(job) ?? [],
      by: facts.label,
      verb,
      isBooting,
    }
    const zones = facts.zones === undefined ? {} : { zones: facts.zones }
    return keep(aggregate, input, { fleet: facts.fleet, now: loaded.now, changeId: facts.clock.id(), taken, ...zones })
  }

  /**
   * Counted, not locked: nodes that add schedules of one handler in the same seconds may go over its quota together.
   * @throws `QUOTA_REACHED`
   */
  private async throwIfFull({ name, quota, definition: { handler } }: Wish): Promise<void> {
    if (quota === null) return
    const known = this.counts.get(handler)
    const isRecent = known !== undefined && this.parts.facts.clock.monotonic() - known.at < COUNTED_MS
    if (isRecent && known.count < quota) return
    const count = await this.count(handler)
    if (count < quota) return
    const message = `Schedule '${name}' is refused: handler '${handler}' has ${count} schedules in the store, and its quota is ${quota}. Remove some, or raise the quota in defineHandler.`
    throw new FleetcronError('QUOTA_REACHED', message)
  }

  private async count(handler: string): Promise<number> {
    let count = 0
    for await (const { header, definition } of this.all()) {
      if (!header.retired && definition.handler === handler) count += 1
    }
    this.counts.set(handler, { count, at: this.parts.facts.clock.monotonic() })
    return count
  }

  private added(handler: string): void {
    const known = this.counts.get(handler)
    if (known !== undefined) known.count += 1
  }

  /** Every schedule of the service after this name, removed ones too. */
  private async *all(name = ''): AsyncGenerator<Aggregate> {
    const { link, facts } = this.parts
    const { service } = facts
    for (let after = this.idOf(name); ; ) {
      const { reply } = await link.call('jobs', facts.leaseMs, (store) => store.jobs({ service, after, limit: PAGE }))
      for (const aggregate of reply) {
        if (!aggregate.header.job.startsWith(this.idOf(''))) return
        yield aggregate
      }
      after = reply.at(-1)?.header.job ?? after
      if (reply.length < PAGE) return
    }
  }

  private view(aggregate: Aggregate): ScheduleView | null {
    const { header, definition } = aggregate
    const { handler, data } = definition
    if (header.retired || handler === undefined) return null
    return { ...this.lookups.view(aggregate), handler, data: data === undefined ? undefined : JSON.parse(data) }
  }

  private async load(job: string): Promise<Loaded> {
    const { link, facts } = this.parts
    const { reply } = await link.call('load', facts.leaseMs, (store) => store.load({ jobs: [job] }))
    throwIfUnreadable(reply, job)
    return reply
  }
}

const UNCHANGED: ScheduleAnswer = { outcome: 'unchanged', message: null }
