import type { StoreLink } from './link.js'

/** What an attendance or a beat says about when to look again. */
export interface Hint {
  readonly now: number
  readonly nextWakeAt: number | null
  readonly nextOtherWakeAt: number | null
  readonly nextEndAt: number | null
}

/** How this node stands in line: see `Share`. */
interface Standing {
  readonly isWatcher: boolean
  readonly graceMs: number
  readonly rank: number
}

/** A stagger between nodes that watch one session's end, times the place in line. */
const END_STAGGER_MS = 120
const END_STAGGER_MOST_MS = 720

/**
 * The instants (store time) at which this node has to look: its own jobs' wake-ups, others' after a grace where it is a
 * watcher, ends of other sessions, and what it committed or settled itself. Taking the clock's word for "now" is the
 * caller's business.
 */
export class WakeTimes {
  private mine: number | null = null
  private others: number | null = null
  private ends: number | null = null
  /** By job. */
  private readonly kept = new Map<string, number>()
  private keptNext: number | null = null

  /** An attendance saw everything up to its `now`: what it says replaces what was known. */
  replace(hint: Hint): void {
    this.mine = hint.nextWakeAt
    this.others = hint.nextOtherWakeAt
    this.ends = hint.nextEndAt
    if (this.keptNext === null || this.keptNext > hint.now) return
    for (const [job, instant] of this.kept) if (instant <= hint.now) this.kept.delete(job)
    this.keptNext = null
    for (const instant of this.kept.values()) this.keptNext = earlier(this.keptNext, instant)
  }

  /** A beat adds what it saw, also past instants. Ends move as sessions are renewed: the newest word holds. */
  add(hint: Hint): void {
    this.mine = earlier(this.mine, hint.nextWakeAt)
    this.others = earlier(this.others, hint.nextOtherWakeAt)
    this.ends = hint.nextEndAt
  }

  /** What this node knows of one job by itself: the newest word holds. */
  keep(job: string, instant: number): void {
    this.kept.set(job, instant)
    this.keptNext = earlier(this.keptNext, instant)
  }

  /** Milliseconds until the earliest; null: nothing is known. */
  untilMs(link: StoreLink, standing: Standing): number | null {
    const stagger = Math.min(END_STAGGER_MOST_MS, END_STAGGER_MS * standing.rank)
    const instants = [
      this.mine,
      this.keptNext,
      this.others === null || !standing.isWatcher ? null : this.others + standing.graceMs,
      // The lease has to be over, not only at its end.
      this.ends === null ? null : this.ends + 1 + stagger,
    ].filter((instant) => instant !== null)
    return instants.length === 0 ? null : link.untilMs(Math.min(...instants))
  }
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
