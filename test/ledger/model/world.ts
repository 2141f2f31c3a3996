import type { AttendContext, Decision, Outcome } from '../../../src/ledger/context.js'
import * as ledger from '../../../src/ledger/index.js'
import type { Aggregate, Change, Definition, EndedSession, Run, StoredDefinition } from '../../../src/ledger/types.js'
import type { ZoneData } from '../../../src/schedule/types.js'
import {
  committedTally,
  committedWakeAt,
  judge,
  NO_TALLY,
  settledTally,
  settledWakeAt,
  waitingTotal,
} from '../../../src/store/guards.js'

/** A node of the model: its zone data, its session, and the attempts whose handlers run in it. */
export interface Node {
  readonly name: string
  readonly zones: ZoneData
  session: string
  readonly handlers: Map<string, Run>
}

/** What is seen of every write that was applied. */
export interface Applied {
  readonly before: Aggregate | null
  readonly after: Aggregate
  readonly change: Change
  /** Rows as they stood before. */
  readonly rows: ReadonlyMap<string, Run | null>
  readonly zones: ZoneData
  /** The store's clock at the read. */
  readonly readAt: number
}

export type Fate = 'applied' | 'lost' | 'late' | 'doubled'

interface Sent {
  readonly change: Change
  readonly node: Node
  readonly session: string
  readonly readAt: number
}

/**
 * One job in a store, and nodes that decide about it at different times, with different zone data, over a network that
 * loses, delays and doubles their commits.
 */
export class World {
  now: number
  job: Aggregate | null = null
  readonly rows = new Map<string, Run>()
  readonly requests = new Set<string>()
  readonly ended = new Map<string, EndedSession>()
  known: StoredDefinition[] = []
  private readonly inFlight: Sent[] = []
  private ids = 0

  constructor(
    start: number,
    readonly nodes: readonly Node[],
    private readonly seen: { commit(applied: Applied): void; settle(before: Run, after: Run, job: Aggregate): void },
  ) {
    this.now = start
  }

  get aggregate(): Aggregate {
    if (this.job === null) throw new Error('the job is defined first')
    return this.job
  }

  context(node: Node, room: number): AttendContext {
    this.ids += 1
    return {
      fleet: 'f',
      now: this.now,
      changeId: `c${this.ids}`,
      session: node.session,
      node: node.name,
      room,
      ended: this.ended,
      busy: new Set([...node.handlers.values()].map(({ key }) => key)),
      ownTrouble: null,
      zones: node.zones,
    }
  }

  /** As the loop does it: what a clash has shown is told to the next of three tries. */
  attend(node: Node, room: number, fate: Fate): Change | null {
    let taken: readonly string[] = []
    for (let tries = 1; ; tries += 1) {
      const change = ledger.attend(this.aggregate, { ...this.context(node, room), taken: new Set(taken) })
      const clash = change === null ? [] : this.send(change, node, fate)
      if (clash.length === 0 || tries === 3) return change
      taken = [...taken, ...clash]
    }
  }

  ask(node: Node, fate: Fate, make: (job: Aggregate, ctx: AttendContext) => Decision): void {
    let taken: readonly string[] = [...this.requests]
    for (let tries = 0; tries < 3; tries += 1) {
      const decision = make(this.aggregate, { ...this.context(node, 0), taken: new Set(taken) })
      const clash = decision.outcome === 'change' ? this.send(decision.change, node, fate) : []
      if (clash.length === 0) return
      taken = [...taken, ...clash]
    }
  }

  /** A store that was restored in part: the cursor is set back, every row stays. */
  rewind(ms: number): void {
    const { header, ...job } = this.aggregate
    const instant = header.cursor.instant - ms
    const wall = header.cursor.label === '' ? Number.NaN : Date.parse(`${header.cursor.label}Z`) - ms
    const label = Number.isNaN(wall) ? '' : new Date(wall).toISOString().slice(0, 16)
    this.job = { ...job, header: { ...header, cursor: { instant, label }, lastFate: null, wakeAt: this.now } }
  }

  define(node: Node, hash: string, content: Definition, carried: ReadonlyMap<string, number>, fate: Fate): void {
    const names = { job: 'svc:job', service: 'svc', name: 'job', release: null, by: node.name }
    const ctx = this.context(node, 0)
    const change = ledger.define(this.job, { ...names, hash, content, known: this.known, carried }, ctx)
    if (change !== null) this.send(change, node, this.job === null ? 'applied' : fate)
  }

  /** What was late arrives, in any order. */
  deliver(index: number): void {
    const [sent] = this.inFlight.splice(index % Math.max(1, this.inFlight.length), 1)
    if (sent !== undefined) this.commit(sent)
  }

  /** An attempt's holder says how it ended; the store believes it while the run still runs under its token. */
  settle(run: Run, outcome: Outcome): void {
    for (const node of this.nodes) if (run.attemptId !== null) node.handlers.delete(run.attemptId)
    const row = this.rows.get(run.key)
    if (row === undefined || row.state !== 'running' || row.token !== run.token || row.attemptId !== run.attemptId)
      return
    const settlement = ledger.settleRun(run, this.aggregate.definition, outcome, this.now)
    const after: Run = { ...settlement.run, stop: row.stop }
    this.rows.set(run.key, after)
    const { header, tally } = this.aggregate
    const wakeAt = settledWakeAt(header.wakeAt, waitingTotal(header), settlement.wakeAt, this.now)
    this.job = { ...this.aggregate, header: { ...header, wakeAt }, tally: settledTally(tally, settlement) }
    this.job = { ...this.job, runs: this.window() }
    this.seen.settle(row, after, this.job)
  }

  /** The session is marked as ended; its node goes on under another one, or begins anew without handlers. */
  endSession(node: Node, returned: boolean): void {
    const { session, name } = node
    this.ended.set(session, { session, node: name, leaseEnd: this.now, endedAt: this.now, returned })
    node.session = `${session}'`
    if (!returned) node.handlers.clear()
  }

  live(): Run[] {
    return [...this.rows.values()].filter((run) => ledger.isLive(run.state)).sort((a, b) => a.position - b.position)
  }

  /** The keys that clash, where the answer comes at once. */
  private send(change: Change, node: Node, fate: Fate): readonly string[] {
    const sent = { change, node, session: node.session, readAt: this.now }
    if (fate === 'late' || fate === 'doubled') this.inFlight.push(sent)
    return fate === 'applied' || fate === 'doubled' ? this.commit(sent) : []
  }

  private commit({ change, node, session, readAt }: Sent): readonly string[] {
    if (this.ended.has(session)) return []
    const refusal = judge(change, {
      version: this.job?.version ?? null,
      settled: this.job?.tally.settled ?? 0,
      run: (key) => this.rows.get(key) ?? null,
      event: (id) => this.requests.has(id),
      definition: (hash) => this.known.some((one) => one.hash === hash),
      attempt: () => null,
    })
    if (refusal !== null) return refusal.outcome === 'clash' ? refusal.keys : []
    const before = this.job
    const rows = new Map(change.runs.map(({ run }) => [run.key, this.rows.get(run.key) ?? null]))
    for (const { run } of change.runs) this.rows.set(run.key, run)
    for (const { id } of change.events) this.requests.add(id)
    const entered = change.definition
    if (entered !== null) this.known = [...this.known.filter(({ hash }) => hash !== entered.hash), entered]
    const tally = before?.tally ?? NO_TALLY
    const header = { ...change.header, wakeAt: committedWakeAt(change, tally, this.now) }
    const definition = this.known.find(({ hash }) => hash === header.definition)?.content
    if (definition === undefined) throw new Error(`the store does not know ${header.definition}`)
    const after = { header, version: change.id, definition, tally: committedTally(tally, change), runs: this.window() }
    this.job = JSON.parse(JSON.stringify(after))
    if (node.session === session) {
      for (const { run } of change.runs) {
        const isGrant = run.state === 'running' && run.attemptId?.startsWith(`${change.id}.`) === true
        if (isGrant && run.attemptId !== null) node.handlers.set(run.attemptId, run)
      }
    }
    this.seen.commit({ before, after, change, rows, zones: node.zones, readAt })
    return []
  }

  private window(): Run[] {
    const live = this.live()
    const lane = (name: string) => live.filter((run) => !run.place && run.lane === name).slice(0, ledger.WINDOW)
    return [...live.filter((run) => run.place), ...lane('schedule'), ...lane('manual'), ...lane('backlog')]
  }
}
