/**
 * An ordered set of moments in whole milliseconds, wall times or instants, that is asked instead of listed: every
 * question is answered in bounded work, however many moments lie between.
 */
export interface Moments {
  /** The first moment greater than `after`, or null. */
  next(after: number): number | null
  /** The last moment not greater than `until`, or null. */
  last(until: number): number | null
  /** How many moments are greater than `after` and not greater than `until`. */
  count(after: number, until: number): number
  has(moment: number): boolean
}

/** One moment. */
export class OneMoment implements Moments {
  constructor(private readonly moment: number) {}

  next(after: number): number | null {
    return this.moment > after ? this.moment : null
  }

  last(until: number): number | null {
    return this.moment <= until ? this.moment : null
  }

  count(after: number, until: number): number {
    return this.moment > after && this.moment <= until ? 1 : 0
  }

  has(moment: number): boolean {
    return moment === this.moment
  }
}

/** `anchor + k * step` for k from 1, as far as `end`. */
export class Progression implements Moments {
  private readonly steps: number

  constructor(
    private readonly anchor: number,
    private readonly step: number,
    end: number,
  ) {
    this.steps = Math.floor((end - anchor) / step)
  }

  next(after: number): number | null {
    const k = Math.max(1, Math.floor((after - this.anchor) / this.step) + 1)
    return k <= this.steps ? this.anchor + k * this.step : null
  }

  last(until: number): number | null {
    const k = this.rank(until)
    return k >= 1 ? this.anchor + k * this.step : null
  }

  count(after: number, until: number): number {
    return Math.max(0, this.rank(until) - this.rank(after))
  }

  has(moment: number): boolean {
    return this.last(moment) === moment
  }

  private rank(until: number): number {
    return Math.min(this.steps, Math.max(0, Math.floor((until - this.anchor) / this.step)))
  }
}
