import type { Clock, Timer } from '../fleet/clock.js'
import { Heap } from './heap.js'
import { Random } from './random.js'

/**
 * Virtual time. A `VirtualClock` is the true time of a small world; a `VirtualProcess` is what one process of that world
 * sees of it: its own wall clock (which may be off, drift and be set), its own monotonic clock, and its timers. A process
 * can be paused (SIGSTOP: its monotonic clock goes on, its timers fire late and all at once), suspended (the machine
 * sleeps: its monotonic clock stands still too) and killed (nothing of it happens any more).
 *
 * Events happen one after another in the order of time. Between two events every promise that can go on has gone on, so
 * code made of promises and these timers alone runs the same way each time. It must not wait for anything else: not for
 * real timers, not for files or sockets.
 */
export class VirtualClock {
  readonly #start: number
  #now: number
  #sequence = 0
  #turns = 0
  readonly #events = new Heap<Event>(comesBefore)

  /** @param start the instant at which the world begins, epoch milliseconds */
  constructor(start: number) {
    this.#start = start
    this.#now = start
  }

  /** True time, epoch milliseconds. */
  get now(): number {
    return this.#now
  }

  /** True time since the start, milliseconds. */
  get elapsed(): number {
    return this.#now - this.#start
  }

  /** Events that have happened. */
  get turns(): number {
    return this.#turns
  }

  /** Events that wait, called-off ones whose time has not come among them: what grows without end is seen here. */
  get pending(): number {
    return this.#events.size
  }

  /** Calls `fn` at a true instant; at once (but not synchronously) where that has passed. */
  at(instant: number, fn: () => void): Timer {
    return this.#schedule(Math.max(instant, this.#now), fn)
  }

  /** Calls `fn` after a true duration. */
  after(delayMs: number, fn: () => void): Timer {
    return this.#schedule(this.#now + Math.max(0, delayMs), fn)
  }

  /** A process that sees this time its own way. */
  process(name: string, view: ProcessView = {}): VirtualProcess {
    return new VirtualProcess(this, name, view)
  }

  /**
   * Lets time pass until a true instant. Resolves when everything up to it has happened; rejects with what an event threw.
   * @param until epoch milliseconds
   * @param limit at most this many events, 1,000,000 by default: more is taken for a loop without end, and thrown
   */
  run(until: number, limit = 1_000_000): Promise<void> {
    const last = this.#turns + limit
    return new Promise((resolve, reject) => {
      let ended = false
      const turn = () => {
        if (ended) return
        try {
          if (this.#turns >= last) throw new Error(`virtual time does not pass: ${limit} events before ${until}`)
          if (this.#turn(until)) return
          resolve()
        } catch (error) {
          reject(error)
        }
        ended = true
      }
      // Node runs every promise that can go on between two immediates, so one batch saves a round of the event loop each.
      const batch = () => {
        if (ended) return
        for (let count = 0; count < BATCH; count += 1) setImmediate(turn)
        setImmediate(batch)
      }
      batch()
    })
  }

  #turn(until: number): boolean {
    let event = this.#events.peek()
    while (event?.cancelled) {
      this.#events.pop()
      event = this.#events.peek()
    }
    if (event === undefined || event.time > until) {
      this.#now = Math.max(this.#now, until)
      return false
    }
    this.#events.pop()
    this.#now = event.time
    this.#turns += 1
    event.cancelled = true
    event.fn()
    return true
  }

  #schedule(time: number, fn: () => void): Timer {
    this.#sequence += 1
    const event: Event = { time, sequence: this.#sequence, fn, cancelled: false }
    this.#events.push(event)
    return {
      cancel() {
        event.cancelled = true
      },
    }
  }
}

interface Event {
  readonly time: number
  readonly sequence: number
  readonly fn: () => void
  cancelled: boolean
}

const BATCH = 64

function comesBefore(a: Event, b: Event): boolean {
  return a.time < b.time || (a.time === b.time && a.sequence < b.sequence)
}

/** How a process sees time. */
export interface ProcessView {
  /** Its wall clock minus true time, milliseconds; 0 by default. */
  readonly wallOffsetMs?: number
  /** How fast its wall clock goes; 1 by default. */
  readonly wallRate?: number
  /** Whether the process can tell how long the machine slept; yes by default. */
  readonly knowsSuspend?: boolean
  /** The chance that a timer fires a millisecond early, as real ones may; 0 by default. */
  readonly earlyTimers?: number
  /** Where its chance and ids come from; fixed by its name by default. */
  readonly random?: Random
}

/** One process of a virtual world, as a `Clock`. */
export class VirtualProcess implements Clock {
  readonly suspended?: () => number
  readonly #world: VirtualClock
  readonly #random: Random
  readonly #early: number
  readonly #base: number
  readonly #held: (() => void)[] = []
  #offset: number
  #rate: number
  #rateSince: number
  #state: 'running' | 'paused' | 'suspended' | 'dead' = 'running'
  #suspendedSince = 0
  #suspendedMs = 0

  /** Use `VirtualClock.process`. */
  constructor(
    world: VirtualClock,
    readonly name: string,
    view: ProcessView,
  ) {
    this.#world = world
    this.#random = view.random ?? new Random(name)
    this.#early = view.earlyTimers ?? 0
    this.#offset = view.wallOffsetMs ?? 0
    this.#rate = view.wallRate ?? 1
    this.#rateSince = world.now
    this.#base = world.now - this.#random.int(1_000, 100_000)
    if (view.knowsSuspend !== false) this.suspended = () => this.#suspendedMs
  }

  get state(): 'running' | 'paused' | 'suspended' | 'dead' {
    return this.#state
  }

  wall(): number {
    const since = this.#world.now - this.#rateSince
    return Math.round(this.#rateSince + since * this.#rate + this.#offset)
  }

  monotonic(): number {
    const now = this.#state === 'suspended' ? this.#suspendedSince : this.#world.now
    return now - this.#base - this.#suspendedMs
  }

  after(delayMs: number, fn: () => void): Timer {
    const early = delayMs > 1 && this.#early > 0 && this.#random.chance(this.#early) ? 1 : 0
    const due = this.monotonic() + Math.max(1, Math.ceil(delayMs)) - early
    const timer = { cancelled: false }
    const fire = () => {
      if (timer.cancelled || this.#state === 'dead') return
      if (this.#state !== 'running') {
        this.#held.push(fire)
        return
      }
      const left = due - this.monotonic()
      if (left > 0) this.#world.after(left, fire)
      else fn()
    }
    const event = this.#world.after(due - this.monotonic(), fire)
    return {
      cancel() {
        timer.cancelled = true
        event.cancel()
      },
    }
  }

  random(): number {
    return this.#random.unit()
  }

  id(): string {
    return this.#random.id()
  }

  /** Something reaches this process from outside after a true duration: a reply, a signal. Late where it is paused, never where it is dead. */
  arrive(delayMs: number, fn: () => void): Timer {
    const deliver = () => {
      if (this.#state === 'dead') return
      if (this.#state === 'running') fn()
      else this.#held.push(deliver)
    }
    return this.#world.after(delayMs, deliver)
  }

  /** Somebody sets its wall clock forward or back. */
  stepWall(byMs: number): void {
    this.#offset += byMs
  }

  /** SIGSTOP. */
  pause(): void {
    if (this.#state === 'running') this.#state = 'paused'
  }

  /** The machine goes to sleep. */
  suspend(): void {
    if (this.#state !== 'running') return
    this.#state = 'suspended'
    this.#suspendedSince = this.#world.now
  }

  /** SIGCONT, or the machine wakes: everything that was held happens now, in its order. */
  resume(): void {
    if (this.#state === 'dead' || this.#state === 'running') return
    if (this.#state === 'suspended') this.#suspendedMs += this.#world.now - this.#suspendedSince
    this.#state = 'running'
    for (const held of this.#held.splice(0)) this.#world.after(0, held)
  }

  /** SIGKILL. */
  kill(): void {
    this.#state = 'dead'
    this.#held.length = 0
  }
}
