import type { CronPattern } from 'croner'
import { DAY_MS, FIRST_WALL, LAST_WALL, SECOND_MS } from './calendar.js'
import type { Dates } from './dates.js'
import type { Moments } from './moments.js'
import { TimesOfDay } from './times-of-day.js'

/**
 * The wall times of a cron expression. croner reads the grammar and says which dates match; here its answers are kept
 * in a form that can be counted: a set of times of day, the same on every matching date, and a mask of days for each
 * shape of month (which month, on which weekday it begins, leap or not), of which there are at most 168.
 */
export class CronMoments implements Moments {
  private readonly times: TimesOfDay

  constructor(
    pattern: CronPattern,
    private readonly dates: Dates,
  ) {
    this.times = new TimesOfDay(pattern.hour, pattern.minute, pattern.second)
  }

  /** Whether any date of any year matches: the dates of 30 February, never. */
  get isPossible(): boolean {
    return this.dates.isPossible
  }

  next(after: number): number | null {
    const second = Math.floor(Math.max(after, FIRST_WALL - 1) / SECOND_MS) + 1
    const day = Math.floor(second / DAY_SECONDS)
    const today = this.dates.has(day) ? this.times.next(second - day * DAY_SECONDS) : -1
    if (today >= 0) return inRange((day * DAY_SECONDS + today) * SECOND_MS)
    const later = this.dates.next(day + 1)
    return later === null ? null : inRange((later * DAY_SECONDS + this.times.next(0)) * SECOND_MS)
  }

  last(until: number): number | null {
    const second = Math.floor(Math.min(until, LAST_WALL) / SECOND_MS)
    const day = Math.floor(second / DAY_SECONDS)
    const today = this.dates.has(day) ? this.times.last(second - day * DAY_SECONDS) : -1
    if (today >= 0) return inRange((day * DAY_SECONDS + today) * SECOND_MS)
    const earlier = this.dates.last(day - 1)
    return earlier === null ? null : inRange((earlier * DAY_SECONDS + this.times.last(DAY_SECONDS - 1)) * SECOND_MS)
  }

  count(after: number, until: number): number {
    const from = Math.floor(Math.max(after, FIRST_WALL - 1) / SECOND_MS)
    const to = Math.floor(Math.min(until, LAST_WALL) / SECOND_MS)
    if (to <= from) return 0
    const firstDay = Math.floor(from / DAY_SECONDS)
    const lastDay = Math.floor(to / DAY_SECONDS)
    const whole = this.dates.count(firstDay, lastDay - 1) * this.times.size
    const before = this.dates.has(firstDay) ? this.times.count(from - firstDay * DAY_SECONDS) : 0
    const within = this.dates.has(lastDay) ? this.times.count(to - lastDay * DAY_SECONDS) : 0
    return whole - before + within
  }

  has(moment: number): boolean {
    return this.last(moment) === moment
  }
}

const DAY_SECONDS = DAY_MS / SECOND_MS

function inRange(wall: number): number | null {
  return wall >= FIRST_WALL && wall <= LAST_WALL ? wall : null
}
