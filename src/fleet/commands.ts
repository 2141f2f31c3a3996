import { FleetcronError } from '../errors.js'
import type { Context, Decision, Request, ResolvedEffect } from '../ledger/context.js'
import { backfill, cancel, manualKey, noteResolved, pause, resume, retire, retryRun, trigger } from '../ledger/index.js'
import type { Aggregate, Change, LedgerEvent, Run } from '../ledger/types.js'
import type { Committed, Loaded } from '../store/port.js'
import { dataText } from './data-text.js'
import { canonicalJson } from './definition-hash.js'
import type { NodeState } from './node.js'
import type { Parts } from './parts.js'
import { Backoff, pause as wait } from './pause.js'
import { NONCE, nonceId, requestId } from './request-id.js'

/** Who asks and why, for the record of events; the node's label when nobody is named. */
export interface Asking {
  readonly by?: string
  readonly why?: string
}

export interface TriggerRequest extends Asking {
  /** Plain data for `run.data`, at most 64 kB as JSON. */
  readonly data?: unknown
  /**
   * Makes a resend safe: the same key gives the first run of this job, for at least 7 days; with other data it is refused.
   * 1 to 1,000 characters.
   */
  readonly key?: string
  /** @internal */
  readonly [NONCE]?: string
}

/** Names a run: a ledger row, or its job and key. */
export interface RunRef {
  readonly job: string
  readonly key: string
}

/** A request gives up after so many rounds against others who change the same job. */
const ROUNDS = 30

/** A request that lost to somebody else is tried again at once so often: the usual other one is a node that starts what was asked just before. */
const AT_ONCE = 5

/** Steps by which a job is brought forward before a request is carried out, whose rows are there and whose cursor was set back. */
const STEPS = 2_000

/**
 * What people and programs ask. Each request has an id that the ledger keeps with what it did, so that asking again
 * after a doubtful answer does nothing twice; the loop here is read, decide, compare and set.
 */
export class Commands {
  constructor(
    private readonly parts: Parts,
    private readonly state: () => NodeState,
  ) {}

  /**
   * Starts a job once, now or as soon as a place is free.
   * @throws `JOB_UNKNOWN`, `QUEUE_FULL`, `REQUEST_CONFLICT`, `OPTION_INVALID`, `STATE_CONFLICT`, `STORE_UNAVAILABLE`, `NOT_STARTED`
   */
  async trigger(job: string, input: TriggerRequest = {}): Promise<Run> {
    const data = dataText(job, input.data)
    const nonce = input[NONCE] === undefined ? undefined : nonceId(job, input[NONCE])
    const request = this.request(input, input.key === undefined ? nonce : requestId(job, input.key))
    const also = nonce === request.id ? undefined : nonce
    const decide: Decide = (aggregate, ctx) => trigger(aggregate, { request, data, also: also ?? null }, ctx)
    const key = manualKey(request.id)
    const repeated = await this.carryOut(job, request, decide, { also })
    const isAnother = repeated !== null && (repeated.kind !== 'triggered' || keyIn(repeated) !== key)
    // Compared also where this call seems to have made it: in doubt somebody else's may have come first.
    const run = isAnother ? null : await this.run({ job, key })
    if (run === null || canonical(run.data) !== canonical(data)) {
      throw repeatedOtherwise(job, input, isAnother)
    }
    return run
  }

  /** One run for each occurrence with `from <= instant <= to`, both in the past; at most 1,000. Returns how many. */
  async backfill(job: string, input: Asking & { readonly from: number; readonly to: number }): Promise<number> {
    const request = this.request(input)
    let made = 0
    await this.carryOut(job, request, (aggregate, ctx) => {
      const decision = backfill(aggregate, { request, from: input.from, to: input.to }, ctx)
      const change = decision.outcome === 'change' ? decision.change : null
      made = change?.runs.filter(({ run }) => run.key.startsWith(`backfill:${request.id}:`)).length ?? made
      return decision
    })
    return made
  }

  /** Starts nothing new until `resume` or the instant; occurrences in between are missed, reason `paused`. */
  async pause(job: string, input: Asking & { readonly until?: number } = {}): Promise<void> {
    const request = this.request(input)
    await this.carryOut(job, request, (aggregate, ctx) =>
      pause(aggregate, { request, until: input.until ?? null }, ctx),
    )
  }

  /** Ends a pause and forgets the failures in a row. */
  async resume(job: string, input: Asking = {}): Promise<void> {
    const request = this.request(input)
    await this.carryOut(job, request, (aggregate, ctx) => resume(aggregate, { request }, ctx))
  }

  /** Takes a job out of service: what waits is cancelled, who works is asked to stop. A node that carries it brings it back at its next start. */
  async retire(job: string, input: Asking = {}): Promise<void> {
    const request = this.request(input)
    await this.carryOut(job, request, (aggregate, ctx) => retire(aggregate, { request }, ctx))
    this.parts.beats.soon()
  }

  /** Takes a run back: at once where nobody works on it, else its holder is asked to stop. */
  async cancel(ref: RunRef, input: Asking = {}): Promise<void> {
    const request = this.request(input)
    const decide: Decide = (aggregate, ctx, run) => cancel(aggregate, run, { request }, ctx)
    await this.carryOut(ref.job, request, decide, { about: ref })
    this.parts.beats.soon()
  }

  /** Does the work of a run that ended without success once more, as a manual run with the same date and data. */
  async retry(ref: RunRef, input: Asking = {}): Promise<Run> {
    const request = this.request(input)
    const decide: Decide = (aggregate, ctx, run) => retryRun(aggregate, run, { request }, ctx)
    await this.carryOut(ref.job, request, decide, { about: ref })
    return this.run({ job: ref.job, key: manualKey(request.id) })
  }

  /** Keeps on record that somebody has said what became of a call of a provider. */
  async noteResolved(job: string, input: Asking & ResolvedEffect): Promise<void> {
    const { run, effect, as } = input
    const request = this.request(input)
    await this.carryOut(job, request, (aggregate, ctx) => noteResolved(aggregate, { request, run, effect, as }, ctx))
  }

  /**
   * A run in any state.
   * @throws `RUN_UNKNOWN`
   */
  async run(ref: RunRef): Promise<Run> {
    const { reply } = await this.load({ keys: [{ job: ref.job, key: ref.key }] })
    throwIfUnreadable(reply, ref.job)
    return reply.runs[0] ?? unknownRun(ref)
  }

  /** Null: carried out now; an event: it was before. */
  private async carryOut(
    job: string,
    request: Request,
    decide: Decide,
    { about, also }: { readonly about?: RunRef; readonly also?: string | undefined } = {},
  ): Promise<LedgerEvent | null> {
    const { clock } = this.parts.facts
    const requests = also === undefined ? [request.id] : [request.id, also]
    const keys = about === undefined ? [] : [{ job: about.job, key: about.key }]
    const taken = new Set<string>()
    const backoff = new Backoff(clock, 10, 500)
    let doubt: unknown = null
    let steps = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      this.throwUnlessStarted()
      const { reply } = await this.load({ jobs: [job], requests, keys })
      throwIfUnreadable(reply, job)
      const used = reply.events.find(({ id }) => id === also)
      if (used !== undefined && keyIn(used) !== manualKey(request.id)) return used
      const before = reply.events.find(({ id }) => id === request.id)
      if (before !== undefined) return this.ownWord(before, job, doubt)
      const context = this.context(reply, taken)
      const run = reply.runs[0] ?? (about === undefined ? NO_RUN : unknownRun(about))
      const decision = decide(reply.jobs.get(job) ?? unknownJob(job), context, run)
      if (decision.outcome === 'refused') throw new FleetcronError(decision.code, sentence(decision.message))
      if (decision.outcome === 'unchanged') return null
      const { change } = decision
      const known = taken.size
      const committed = await this.commit(reply.now, change).catch((error) => {
        doubt = error
        return null
      })
      const isWon = committed !== null && this.isDone(committed, change, taken)
      if (isWon && change.events.some(({ id }) => id === request.id)) return null
      // A store that was set back is brought forward a step at a time, which is no contest with anybody.
      if ((isWon || taken.size > known) && steps++ < STEPS) round = 0
      else if (committed === null || round >= AT_ONCE) await wait(clock, backoff.nextMs())
    }
    throw doubt ?? busy(job)
  }

  /** What was found may be what this very call committed in doubt: then it was carried out now. */
  private ownWord(event: LedgerEvent, job: string, doubt: unknown): LedgerEvent | null {
    if (event.job === job) return doubt === null ? event : null
    const message = `Request '${event.id}' was used before for job '${event.job}': use a new one for job '${job}'.`
    throw new FleetcronError('REQUEST_CONFLICT', message)
  }

  /** Commits a change that was decided elsewhere. False: somebody else was faster, or took keys, which are noted in `taken`. */
  async apply(now: number, change: Change, taken: Set<string>): Promise<boolean> {
    return this.isDone(await this.commit(now, change), change, taken)
  }

  private async commit(now: number, change: Change): Promise<Committed> {
    const { link, facts, looker, sessions } = this.parts
    await looker.introduce()
    const session = sessions.current
    const { reply } = await link.call('commit', facts.leaseMs / 3, (store) => store.commit(session.ref, now, [change]))
    return reply
  }

  private isDone(committed: Committed, change: Change, taken: Set<string>): boolean {
    if (committed.expired) return false
    const [result] = committed.results
    if (result?.outcome === 'clash') for (const key of result.keys) taken.add(key)
    if (result?.outcome === 'refused') {
      throw new FleetcronError('OPTION_INVALID', `The store refused a change of job '${change.job}': ${result.why}`)
    }
    if (result?.outcome !== 'won') return false
    const { looker, membership, outage } = this.parts
    outage.sawHeader(change.header)
    const { buckets, graceMs } = membership.mine()
    const { wakeAt, bucket } = change.header
    if (wakeAt !== null) looker.wakeBy(change.job, buckets.has(bucket) ? wakeAt : wakeAt + graceMs)
    return true
  }

  /** @throws `NOT_STARTED` */
  load(query: Parameters<Parts['link']['store']['load']>[0]): Promise<{ readonly reply: Loaded }> {
    this.throwUnlessStarted()
    return this.parts.link.call('load', this.parts.facts.leaseMs, (store) => store.load(query))
  }

  private context(loaded: Loaded, taken: ReadonlySet<string>): Context {
    const { fleet, clock, zones } = this.parts.facts
    return { fleet, now: loaded.now, changeId: clock.id(), taken, ...(zones === undefined ? {} : { zones }) }
  }

  private request(input: Asking, id?: string): Request {
    return { id: id ?? this.parts.facts.clock.id(), by: input.by ?? this.parts.facts.label, why: input.why ?? null }
  }

  private throwUnlessStarted(): void {
    const state = this.state()
    if (state === 'running' || state === 'stopping') return
    const { fleet } = this.parts.facts
    const what = state === 'stopped' ? 'is stopped' : 'is not started yet'
    throw new FleetcronError('NOT_STARTED', `Fleet '${fleet}' ${what}: await start() before you ask anything of it.`)
  }
}

function repeatedOtherwise(job: string, { key, [NONCE]: nonce }: TriggerRequest, isAnother: boolean): FleetcronError {
  const isOfNonce = nonce !== undefined && (isAnother || key === undefined)
  const what = isOfNonce ? 'this nonce before, with another key or other data' : `key '${key}' before, with other data`
  const remedy = isOfNonce ? 'sign each request with a fresh nonce' : 'use a new key for a new request'
  return new FleetcronError('REQUEST_CONFLICT', `Job '${job}' was triggered with ${what}: ${remedy}.`)
}

type Decide = (aggregate: Aggregate, ctx: Context, run: Run) => Decision

const NO_RUN = {} as Run

/** The key of the run that a request has made. */
function keyIn({ data }: LedgerEvent): unknown {
  return (JSON.parse(data ?? '{}') as { readonly key?: unknown }).key
}

function canonical(json: string | null): string {
  return json === null ? '' : canonicalJson(JSON.parse(json))
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function unknownJob(job: string): never {
  const message = `No node has defined a job '${job}': check the name; a job is known once a node that declares it has started.`
  throw new FleetcronError('JOB_UNKNOWN', message)
}

export function throwIfUnreadable({ unreadable }: Loaded, job: string): void {
  const found = unreadable.find((one) => one.job === job)
  if (found === undefined) return
  const message = `Job '${job}' cannot be read: ${found.why}. Mend its rows in the store; nothing is decided about it until then.`
  throw new FleetcronError('JOB_UNREADABLE', message)
}

function unknownRun({ job, key }: RunRef): never {
  const message = `Job '${job}' has no run '${key}': it never existed or was pruned; take the key from the job's runs.`
  throw new FleetcronError('RUN_UNKNOWN', message)
}

function busy(job: string): FleetcronError {
  return new FleetcronError('STORE_UNAVAILABLE', `Job '${job}' is changed by others all the time: ask again.`)
}
