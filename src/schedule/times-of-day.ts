/** The times of day of an expression as seconds of the day: every combination of its hours, minutes and seconds. */
export class TimesOfDay {
  readonly size: number
  private readonly hours: Field
  private readonly minutes: Field
  private readonly seconds: Field

  constructor(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]) {
    this.hours = new Field(hours)
    this.minutes = new Field(minutes)
    this.seconds = new Field(seconds)
    this.size = this.hours.size * this.minutes.size * this.seconds.size
  }

  /** The first time not before `second`, or -1. */
  next(second: number): number {
    const hour = Math.floor(second / 3600)
    const minute = Math.floor(second / 60) % 60
    if (this.hours.has(hour)) {
      const same = this.minutes.has(minute) ? this.seconds.next(second % 60) : -1
      if (same >= 0) return hour * 3600 + minute * 60 + same
      const later = this.minutes.next(minute + 1)
      if (later >= 0) return hour * 3600 + later * 60 + this.seconds.next(0)
    }
    const later = this.hours.next(hour + 1)
    return later < 0 ? -1 : later * 3600 + this.minutes.next(0) * 60 + this.seconds.next(0)
  }

  /** The last time not after `second`, or -1. */
  last(second: number): number {
    const hour = Math.floor(second / 3600)
    const minute = Math.floor(second / 60) % 60
    if (this.hours.has(hour)) {
      const same = this.minutes.has(minute) ? this.seconds.last(second % 60) : -1
      if (same >= 0) return hour * 3600 + minute * 60 + same
      const earlier = this.minutes.last(minute - 1)
      if (earlier >= 0) return hour * 3600 + earlier * 60 + this.seconds.last(59)
    }
    const earlier = this.hours.last(hour - 1)
    return earlier < 0 ? -1 : earlier * 3600 + this.minutes.last(59) * 60 + this.seconds.last(59)
  }

  /** How many times are not after `second`. */
  count(second: number): number {
    const hour = Math.floor(second / 3600)
    const minute = Math.floor(second / 60) % 60
    let count = this.hours.below(hour) * this.minutes.size * this.seconds.size
    if (!this.hours.has(hour)) return count
    count += this.minutes.below(minute) * this.seconds.size
    return this.minutes.has(minute) ? count + this.seconds.below((second % 60) + 1) : count
  }
}

/** One field of hours, minutes or seconds, with the answers for each value written down. */
class Field {
  readonly size: number
  private readonly nexts: Int8Array
  private readonly lasts: Int8Array
  private readonly belows: Int8Array

  /** @param flags croner's list: truthy at each value that matches */
  constructor(flags: readonly number[]) {
    this.nexts = new Int8Array(flags.length + 1).fill(-1)
    this.lasts = new Int8Array(flags.length + 1).fill(-1)
    this.belows = new Int8Array(flags.length + 1)
    for (let value = 0; value < flags.length; value++) {
      this.lasts[value] = flags[value] ? value : (this.lasts[value - 1] ?? -1)
      this.belows[value + 1] = (this.belows[value] ?? 0) + (flags[value] ? 1 : 0)
    }
    for (let value = flags.length - 1; value >= 0; value--) {
      this.nexts[value] = flags[value] ? value : (this.nexts[value + 1] ?? -1)
    }
    this.size = this.below(flags.length)
  }

  has(value: number): boolean {
    return this.lasts[value] === value
  }

  next(from: number): number {
    return this.nexts[from] ?? -1
  }

  last(until: number): number {
    return this.lasts[until] ?? -1
  }

  below(value: number): number {
    return this.belows[value] ?? 0
  }
}
