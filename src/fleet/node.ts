import type { Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import type { Definition } from '../ledger/types.js'
import type { ZoneData } from '../schedule/types.js'
import type { Store, StoreInfo } from '../store/port.js'
import { assemble } from './assemble.js'
import type { Clock } from './clock.js'
import { Commands } from './commands.js'
import type { Events } from './events.js'
import type { HostedHandler } from './handlers.js'
import { type Health, healthOf } from './health.js'
import type { Logger } from './log.js'
import { Lookups } from './lookups.js'
import type { Parts } from './parts.js'
import { Backoff, pause } from './pause.js'
import { Pokes } from './pokes.js'
import type { Run } from './run.js'
import { ScheduleCommands } from './schedule-commands.js'
import { shutDown } from './shutdown.js'

/*
 * A node: what acts. The ledger decides, the store remembers; the node is told what is due, offers decisions, runs what
 * it was given, and says how it ended. Its parts are files of this folder:
 *
 *   looker ──page──▶ decide ──won──▶ attempts ─▶ attempt ──outcome──▶ settling
 *     ▲ wakes                          ▲ signal                          │ wakeAt
 *     └────────── beats ───────────────┴── sessions (belief) ◀───────────┘
 *
 * The life of a node
 *
 *     new ──start()──▶ starting ──session, jobs defined──▶ running ──stop()──▶ stopping ──▶ stopped
 *                         └──────────────────────stop()──────────────────────────▲
 *
 * The life of its session, of which it has one at a time, always
 *
 *     fresh ──hello accepted──▶ introduced ──lost──▶ (another fresh one, same node id)
 *                                 │  ▲
 *                                 └──┘ each attend and beat that the store accepts, counted from when it was sent
 *
 * Who may believe what, until when
 * - The store lets a session that holds runs live until `lease` after it handled the last attend or beat. The node
 *   believes until nine tenths of the lease after it *sent* the last one that was accepted. So belief ends first,
 *   whatever the network, the event loop and the two clocks (within a tenth) do.
 * - Only belief lets a handler start: a grant is looked at again in the same turn in which its handler is called.
 * - A commit that was not answered is not believed in at all: it is read back once it can no longer be applied.
 * - What the ledger says of a run is true when its answer arrives if it cannot change without us: `lost` stays lost, an
 *   attempt found running under our believed session is ours.
 *
 * What happens on each failure
 * - A beat fails: nothing is concluded; another is sent soon. No answer until belief ends: every signal fires within one
 *   turn of a timer, the store is not asked; another session begins; outcomes are still offered and the store says
 *   whether they count (`settled`, `late`) or came too late (`lost`).
 * - A beat says that the session is not alive: the same at once.
 * - The machine slept: the same at once, since nothing says how long the store has waited.
 * - The event loop was blocked past belief: the same at the first turn, or earlier when the handler asks for its signal
 *   or an effect; the fence in the business database guards what it wrote in between.
 * - Attend, load or commit fail: the loop waits (with jitter, up to five seconds) and looks again; handlers go on.
 * - Settle fails: the outcome is kept and offered again until the store has answered, and the beats name its attempt
 *   until then, so that nobody takes a finished run for a forgotten one.
 * - A job cannot be decided: it is parked, the others go on. A handler does not obey its signal: after five seconds its
 *   place is free, its run is ended if it is ours to end, and it stays visible in `health()`.
 * - The business database is away when an attempt starts: tried for 30 s, then handed back uncharged.
 * - The store forgot us, or is another one: another session begins and the jobs are defined again from code.
 */

/** A job as a node carries it. */
export interface HostedJob {
  /** Within the service; the ledger's id is `service:id`. */
  readonly id: string
  /** What people read. */
  readonly name: string
  /** The terms as the code says them. */
  readonly definition: Definition
  /** Whether nobody named the zone: then the zone stored at first definition holds. */
  readonly zoneDefaulted: boolean
  /** So long after its start this node leaves the job to others. Default 0. */
  readonly initialDelayMs?: number
  /** Whether it runs unowned what comes due while it cannot reach the store. Default `wait`. */
  readonly onOutage?: 'wait' | 'run'
  /** Called once per attempt. */
  readonly handler: (run: Run<never>) => unknown
  /** Checks the data before each attempt and gives what the handler sees; it throws `DATA_INVALID`. Default: as it is. */
  readonly parse?: (data: unknown) => unknown
}

/** Everything a node is made of. It reads no clock, chance or environment besides these. */
export interface NodeOptions {
  readonly fleet: string
  readonly service: string
  /** Whether nobody named the service. Default false. */
  readonly serviceDefaulted?: boolean
  /** `host#pid`, for people. */
  readonly label: string
  readonly store: Store
  readonly clock: Clock
  readonly jobs: readonly HostedJob[]
  /** What does the work of schedules kept in the store, of this service. */
  readonly handlers?: readonly HostedHandler[]
  /** The business database; null: runs have no `once`. */
  readonly effects?: Effects | null
  /** How long a silent node is believed to be alive. Default 10,000. */
  readonly leaseMs?: number
  /** Runs this node takes at a time. Default 100. */
  readonly maxRuns?: number
  /** How long what has ended is kept; null: for good. Default 90 days. */
  readonly retentionMs?: number | null
  /** Whether it runs handlers; false: it defines, asks and looks. Default true. */
  readonly attends?: boolean
  readonly release?: string | null
  /** This node's zone data; the process's own by default. */
  readonly zones?: ZoneData
  /** Version of that data, for people. */
  readonly zoneData?: string
  readonly logger?: Logger | null
  /** Where events are told; the node's own by default. */
  readonly events?: Events
  /** Called when the store has been opened. */
  readonly opened?: (info: StoreInfo) => void
}

export interface FleetNode {
  /** Random per started node. */
  readonly id: string
  readonly events: Events
  /** What people and programs ask of the ledger through this node. */
  readonly commands: Commands
  /** What people look at. */
  readonly lookups: Lookups
  /** What doors say. */
  readonly pokes: Pokes
  /** Schedules kept in the store. */
  readonly schedules: ScheduleCommands
  /**
   * Resolves when the node has a session and its jobs are defined. While the store is away it goes on trying; it rejects
   * only with what trying again cannot mend (`STORE_NEWER`, an adapter's refusal), and when it is stopped meanwhile.
   */
  start(): Promise<void>
  /**
   * Lets handlers end for `graceMs` (30,000), then fires their signals, settles or hands back, ends the session and closes
   * the store. Never rejects; a second call waits for the first.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>
  health(): Health
}

export type NodeState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped'

export function createNode(options: NodeOptions): FleetNode {
  return new Node(options)
}

/** What a store says when asking again cannot help. */
const HOPELESS = new Set(['STORE_NEWER', 'DRIVER_MISSING', 'OPTION_INVALID', 'STORE_MISSING'])

const GRACE_MS = 30_000

class Node implements FleetNode {
  readonly id: string
  readonly events: Events
  readonly commands: Commands
  readonly lookups: Lookups
  readonly pokes: Pokes
  readonly schedules: ScheduleCommands
  private readonly parts: Parts
  private readonly stopping = new AbortController()
  private state: NodeState = 'new'
  private starting: Promise<void> | null = null
  private ending: Promise<void> | null = null
  private unsubscribe: (() => Promise<void>) | null = null

  constructor(private readonly options: NodeOptions) {
    this.parts = assemble(options, this.stopping.signal)
    this.id = this.parts.facts.id
    this.events = this.parts.events
    this.commands = new Commands(this.parts, () => this.state)
    this.lookups = new Lookups(this.parts)
    this.pokes = new Pokes(this.parts, this.commands, this.lookups)
    this.schedules = new ScheduleCommands(this.parts, this.commands, this.lookups)
  }

  start(): Promise<void> {
    if (this.ending !== null) return Promise.reject(stopped(this.parts))
    this.starting ??= this.begin()
    return this.starting
  }

  stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.ending ??= this.end(options.graceMs ?? GRACE_MS)
    return this.ending
  }

  health(): Health {
    return healthOf(this.parts, this.state)
  }

  private async begin(): Promise<void> {
    this.state = 'starting'
    const { link, facts, definitions, looker, beats, events, log, effectTables } = this.parts
    effectTables.ready().catch((error) => {
      log.error('the tables of effects cannot be made yet; runs wait for them', { error: String(error) })
    })
    await this.untilItWorks('open the store', async () => {
      const { reply } = await link.call('open', OPEN_MS, (store) => store.open())
      definitions.sawIncarnation(reply.incarnation)
      this.options.opened?.(reply)
    })
    await this.untilItWorks('begin a session', () => looker.introduce())
    await this.untilItWorks('define the jobs', () => definitions.check())
    await this.listen()
    this.throwIfStopped()
    this.state = 'running'
    beats.start()
    looker.start()
    const session = this.parts.sessions.current.ref.id
    events.emit('started', { node: facts.id, session })
    log.info('started', { session, jobs: facts.jobs.size })
  }

  /** Tries until it works or the node stops; a store that is away must not keep an application from starting later. */
  private async untilItWorks(what: string, act: () => Promise<void>): Promise<void> {
    const { facts, log } = this.parts
    const backoff = new Backoff(facts.clock, 200, 10_000)
    for (;;) {
      this.throwIfStopped()
      try {
        await act()
        return
      } catch (error) {
        if (HOPELESS.has(String((error as { code?: unknown } | null)?.code))) throw error
        // It may be a mistake in the configuration that no patience mends: each try says so, aloud.
        log.error(`cannot ${what}; nothing runs here until it works; trying again`, {
          error: error instanceof Error ? error.message : String(error),
        })
      }
      await pause(facts.clock, backoff.nextMs(), this.stopping.signal)
    }
  }

  /** Wake-ups are hints: without them beats are the floor. */
  private async listen(): Promise<void> {
    const { link, log } = this.parts
    if (link.store.subscribe === undefined) return
    try {
      this.unsubscribe = await link.store.subscribe((bucket) => this.woken(bucket))
    } catch (error) {
      log.warn('the store gives no wake-ups; due work is found at beats', { error: String(error) })
    }
  }

  private woken(bucket: number): void {
    const { looker, beats, membership, link } = this.parts
    if (this.state !== 'running') return
    const { buckets, isWatcher, graceMs } = membership.mine()
    if (bucket < 0 || buckets.has(bucket)) looker.request()
    else if (isWatcher) looker.wakeBy(`bucket ${bucket}`, link.storeNow() + graceMs)
    if (beats.concerns(bucket)) beats.soon()
  }

  private async end(graceMs: number): Promise<void> {
    const before = this.state
    this.state = 'stopping'
    if (before !== 'new') this.events.emit('stopping', { node: this.id })
    this.stopping.abort()
    await this.starting?.catch(() => undefined)
    this.state = 'stopping'
    await shutDown(this.parts, graceMs, this.unsubscribe, before !== 'new')
    this.state = 'stopped'
    if (before !== 'new') this.events.emit('stopped', { node: this.id })
  }

  private throwIfStopped(): void {
    if (this.stopping.signal.aborted) throw stopped(this.parts)
  }
}

const OPEN_MS = 60_000

function stopped({ facts }: Parts): FleetcronError {
  return new FleetcronError(
    'NOT_STARTED',
    `Fleet '${facts.fleet}': this node was stopped; create another one to start again.`,
  )
}
